/** `kubectl completion SHELL`, and the words that the scripts ask for. */
import type { Call } from '#cli/call.ts'
import { CliError } from '#cli/cli-error.ts'
import { childrenOf, lastWord } from '#cli/flags/command-spec.ts'
import { findCommand, flagsOf } from '#cli/flags/parse-command-line.ts'
import { resourcePath } from '#cli/session/resource-types.ts'

const scripts: Readonly<Record<string, string>> = {
  bash: `# completion of kubectl for bash
__kubectl_words() {
    local words
    words=$("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    mapfile -t COMPREPLY < <(compgen -W "\${words}" -- "\${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F __kubectl_words kubectl
`,
  zsh: `#compdef kubectl
_kubectl() {
    local -a words_found
    words_found=("\${(@f)$(\${words[1]} __complete -- \${words[2,CURRENT]} 2>/dev/null)}")
    compadd -a words_found
}
compdef _kubectl kubectl
`,
  fish: `# completion of kubectl for fish
function __kubectl_words
    set -l line (commandline -opc) (commandline -ct)
    $line[1] __complete -- $line[2..-1] 2>/dev/null
end
complete -c kubectl -f -a '(__kubectl_words)'
`,
  powershell: `# completion of kubectl for PowerShell
Register-ArgumentCompleter -Native -CommandName 'kubectl' -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = $commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() }
    if ($wordToComplete -eq '') { $words = @($words) + '' }
    & kubectl __complete -- @words 2>$null | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
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

/** The words that may stand where the last argument stands, one a line. */
export async function complete(call: Call): Promise<void> {
  const given = call.args
  const last = given.at(-1) ?? ''
  const before = given.slice(0, -1)
  const { command, rest } = findCommand(before)
  const words = await candidates(call, command, rest, last, before.at(-1) ?? '')
  call.host.write(
    [...new Set(words)]
      .filter((word) => word.startsWith(last))
      .toSorted()
      .map((word) => `${word}\n`)
      .join(''),
  )
}

const takesResources = new Set('get describe delete edit label annotate patch scale autoscale expose wait explain taint'.split(' '))
const takesPods = new Set(['logs', 'exec', 'attach', 'port-forward', 'debug', 'cp'])
const takesNodes = new Set(['cordon', 'uncordon', 'drain', 'top node'])

async function candidates(
  call: Call,
  command: ReturnType<typeof findCommand>['command'],
  rest: readonly string[],
  last: string,
  previous: string,
): Promise<string[]> {
  const children = childrenOf(command.path).map(({ path }) => lastWord(path))
  if (last.startsWith('-')) return [...flagsOf(command).values()].filter(({ isHidden }) => !isHidden).map(({ name }) => `--${name}`)
  if (previous === '-n' || previous === '--namespace') return namesOf(call, 'namespaces')
  if (previous === '-o' || previous === '--output')
    return ['json', 'yaml', 'wide', 'name', 'jsonpath', 'custom-columns', 'go-template', 'kyaml']
  if (previous === '-f' || previous === '--filename') return []
  if (children.length > 0) return children
  const words = rest.filter((word) => !word.startsWith('-'))
  if (takesPods.has(command.path) && words.length === 0) return namesOf(call, 'pods')
  if (takesNodes.has(command.path)) return namesOf(call, 'nodes')
  if (command.path === 'config use-context') {
    const { mergedConfig } = await import('#cli/config/edit-config.ts')
    return [...(await mergedConfig(call)).contexts.keys()]
  }
  const isRollout = command.path.startsWith('rollout ') || command.path.startsWith('set ')
  if (!takesResources.has(command.path) && !isRollout) return []
  const [type] = words
  if (type !== undefined) return namesOf(call, type)
  return (await (await call.session.types).all()).resources.map(({ plural }) => plural)
}

async function namesOf({ session }: Call, resource: string): Promise<string[]> {
  const type = await (await session.types).find(resource)
  if (type === undefined) return []
  const rest = await session.rest
  const { items } = await rest.json<{ items: { metadata: { name: string } }[] }>({
    path: resourcePath(type, type.isNamespaced ? await session.namespace() : ''),
    query: { limit: 500 },
    isQuiet: true,
  })
  return items.map(({ metadata }) => metadata.name)
}
