#compdef leslie
# Completion of leslie in zsh: source <(leslie completion zsh), behind compinit.

_leslie() {
  local line word label
  local -a typed all
  typed=("${(@Q)words[2,CURRENT-1]}")
  [[ $PREFIX == -* ]] && typed+=("$PREFIX")
  while IFS= read -r line; do
    word=${line%%$'\t'*} label=''
    [[ $line == *$'\t'* ]] && label=${line#*$'\t'}
    all+=("${word//:/\\:}${label:+:$label}")
  done < <(LESLIE_COMPLETION=labels "${words[1]}" "${typed[@]}" --generate-bash-completion 2>/dev/null)
  if (( $#all )); then
    _describe -V leslie all
  else
    _files
  fi
}

if [[ $funcstack[1] == _leslie ]]; then
  _leslie "$@"
else
  compdef _leslie leslie
fi
