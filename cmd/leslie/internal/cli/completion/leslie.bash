# Completion of leslie in bash 4 or newer: source <(leslie completion bash)

_leslie() {
  local cur=${COMP_WORDS[COMP_CWORD]} words=("${COMP_WORDS[@]:1:COMP_CWORD-1}") line word
  [[ $cur == -* ]] && words+=("$cur")
  local lines=()
  while IFS= read -r line; do
    [[ $line == "$cur"* ]] && lines+=("$line")
  done < <(LESLIE_COMPLETION=labels "${COMP_WORDS[0]}" "${words[@]}" --generate-bash-completion 2>/dev/null)
  COMPREPLY=()
  for line in "${lines[@]}"; do
    word=${line%%$'\t'*}
    # Only a list that is shown has labels: what is inserted has none. 37 is menu-complete.
    if [[ $line == *$'\t'* && ${#lines[@]} -gt 1 && $COMP_TYPE != 37 ]]; then
      line="$word  (${line#*$'\t'})"
      COMPREPLY+=("${line:0:${COLUMNS:-80}-2}")
    else
      COMPREPLY+=("$word")
    fi
  done
}
complete -o default -F _leslie leslie
