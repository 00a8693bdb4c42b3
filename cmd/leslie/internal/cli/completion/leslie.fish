# Completion of leslie in fish: leslie completion fish | source

function __leslie_complete
    set -l typed (commandline -opc)
    set -l program $typed[1]
    set -e typed[1]
    set -l current (commandline -ct)
    string match -q -- '-*' $current; and set -a typed $current
    LESLIE_COMPLETION=labels $program $typed --generate-bash-completion 2>/dev/null
end

complete -c leslie -a '(__leslie_complete)'
