/** `kubectl completion SHELL`: scripts that ask `kubectl __complete` for words; its last line is a number that says what else may stand there. */
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'

const scripts: Readonly<Record<string, string>> = {
  // Bash takes words apart at = and at colons; what is asked for are the words that the user sees.
  bash: `# completion of kubectl for bash
__kubectl_words() {
    local line="\${COMP_LINE:0:COMP_POINT}" words typed current index
    read -ra typed <<< "\${line}"
    [[ "\${line}" == *[[:space:]] ]] && typed+=('')
    words=$("\${typed[0]}" __completeNoDesc "\${typed[@]:1}" 2>/dev/null)
    case "\${words##*:}" in 2|6) compopt -o nospace 2>/dev/null ;; 8) return ;; esac
    current="\${typed[-1]}"
    [[ "\${current}" == -*=* ]] && current="\${current#*=}"
    mapfile -t COMPREPLY < <(compgen -W "$(grep -v '^:[0-9]*$' <<< "\${words}")" -- "\${current}")
    if [[ "\${current}" == *:* && "\${COMP_WORDBREAKS}" == *:* ]]; then
        for index in "\${!COMPREPLY[@]}"; do COMPREPLY[index]="\${COMPREPLY[index]#"\${current%"\${current##*:}"}"}"; done
    fi
}
complete -o default -F __kubectl_words kubectl
`,
  zsh: `#compdef kubectl
_kubectl() {
    local -a words_found
    words_found=("\${(@f)$(\${words[1]} __completeNoDesc "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
    [[ "\${words[CURRENT]}" == -*=* ]] && compset -P '*='
    compadd -- "\${(@)words_found:#:<->}" || _files
}
compdef _kubectl kubectl
`,
  fish: `# completion of kubectl for fish
function __kubectl_words
    set -l line (commandline -opc) (commandline -ct)
    set -l head (string match -r -- '^-[^=]*=' $line[-1])
    $line[1] __complete $line[2..-1] 2>/dev/null | string match -rv '^:[0-9]+$' | string replace -r -- '^' "$head"
end
complete -c kubectl -f -a '(__kubectl_words)'
`,
  // Before 7.3 an empty argument reaches programs only where it is quoted twice. Nothing at all would make PowerShell offer files.
  powershell: `# completion of kubectl for PowerShell
Register-ArgumentCompleter -Native -CommandName 'kubectl' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object {
        $length = [Math]::Min($_.Extent.Text.Length, $cursorPosition - $_.Extent.StartOffset)
        $_.Extent.Text.Substring(0, $length).Trim("'", '"')
    })
    $typed = $wordToComplete
    $head = ''
    if ($typed -match '^(-[^=]*=)(.*)$') {
        $head = $Matches[1]
        $typed = $Matches[2]
    }
    if ($wordToComplete -eq '') {
        $isOld = $PSVersionTable.PSVersion -lt [version]'7.3.0' -or $PSNativeCommandArgumentPassing -eq 'Legacy'
        $words += $(if ($isOld) { '""' } else { '' })
    }
    $lines = @(& kubectl __completeNoDesc @words 2>$null)
    if ($lines.Count -eq 0) { return }
    $directive = 0
    [void][int]::TryParse($lines[-1].TrimStart(':'), [ref]$directive)
    if ($directive -band 1) { return }
    $values = @($lines | Select-Object -SkipLast 1 | Where-Object { $_.StartsWith($typed) })
    if (-not ($directive -band 32)) { $values = @($values | Sort-Object) }
    if ($values.Count -eq 0 -and ($directive -band 4)) { return '' }
    $values | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new("$head$_", $_, 'ParameterValue', $_)
    }
}
`,
}

export async function completion({ args, host }: Call): Promise<void> {
  const [shell] = args
  if (shell === undefined) throw new CliError("Shell not specified.\nSee 'kubectl completion -h' for help and examples")
  if (args.length > 1)
    throw new CliError("Too many arguments. Expected only the shell type.\nSee 'kubectl completion -h' for help and examples")
  const script = scripts[shell]
  if (script === undefined)
    throw new CliError(`Unsupported shell type ${JSON.stringify(shell)}.\nSee 'kubectl completion -h' for help and examples`)
  host.write(script)
}
