/** Help, in the layout that users of kubectl know. */
import { type CommandSpec, childrenOf, type FlagSpec, globalFlags, lastWord } from '#cli/flags/command-spec.ts'
import { commandGroups, commandSummaries } from './command-summaries.ts'
import { flagTexts } from './flag-texts.ts'

export function helpText(command: CommandSpec): string {
  if (command.path === '') return rootHelp()
  const { path, aliases, usage } = command
  const children = childrenOf(path)
  const flags = command.flags.filter(({ isHidden }) => !isHidden)
  const more = children.length > 0 ? `Use "kubectl ${path} <command> --help" for more information about a given command.\n` : ''
  return [
    `${sentence(commandSummaries[path] ?? '')}\n`,
    aliases.length > 0 ? `\nAliases:\n${[lastWord(path), ...aliases].join(', ')}\n` : '',
    children.length > 0 ? `\nAvailable Commands:\n${childLines(children)}` : '',
    flags.length > 0 ? `\nOptions:\n${flags.map(flagLines).join('\n')}` : '',
    `\nUsage:\n  kubectl ${usage}\n\n`,
    more,
    'Use "kubectl options" for a list of global command-line options (applies to all commands).\n',
  ].join('')
}

const sentence = (text: string): string => (text === '' ? '' : `${text[0]?.toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`)

function childLines(children: readonly CommandSpec[]): string {
  const width = Math.max(11, ...children.map(({ path }) => lastWord(path).length))
  return children.map(({ path }) => `  ${lastWord(path).padEnd(width)}   ${commandSummaries[path] ?? ''}\n`).join('')
}

function flagLines(flag: FlagSpec): string {
  const name = flag.short === '' ? `    --${flag.name}` : `    -${flag.short}, --${flag.name}`
  return `${name}=${initialText(flag)}:\n\t${flagTexts[flag.name] ?? ''}\n`
}

function initialText({ type, initial }: FlagSpec): string {
  if (type === 'string') return `'${initial}'`
  return type === 'list' || type === 'array' ? '[]' : initial
}

function rootHelp(): string {
  const width = Math.max(
    ...Object.values(commandGroups)
      .flat()
      .map((name) => name.length),
  )
  const groups = Object.entries(commandGroups).map(
    ([title, names]) => `${title}:\n${names.map((name) => `  ${name.padEnd(width)}   ${commandSummaries[name] ?? ''}\n`).join('')}`,
  )
  return `kubectl talks to a Kubernetes cluster. This one is part of Typernetes.\n\n${groups.join('\n')}\nUsage:\n  kubectl [flags] [options]\n\nUse "kubectl <command> --help" for more information about a given command.\nUse "kubectl options" for a list of global command-line options (applies to all commands).\n`
}

export const optionsText = (): string => `The following options can be passed to any command:\n\n${globalFlags().map(flagLines).join('\n')}`
