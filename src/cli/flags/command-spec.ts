/** The commands of kubectl and their flags, read from the generated table when they are asked for. */
import { defined } from '#base/defined.ts'
import { commandLines, globalFlagLine } from './command-table.gen.ts'
import { furtherCommands, hiddenFlags } from './further-commands.ts'

export type FlagType = 'bool' | 'string' | 'int' | 'duration' | 'list' | 'array' | 'map'

export type FlagSpec = {
  name: string
  short: string
  type: FlagType
  /** As the help shows it. */
  initial: string
  /** What the flag alone, without a value, means; undefined where it needs one. */
  alone?: string
  isHidden?: boolean
  /** Said to those who use it. */
  deprecated?: string
}

export type CommandSpec = {
  /** `create secret tls`; empty for kubectl itself. */
  path: string
  usage: string
  aliases: readonly string[]
  flags: readonly FlagSpec[]
}

/** Flags that take the whole argument; others that may be repeated are split at commas. */
const wholeArguments = new Set(
  'annotations prune-allowlist allowlist-entry annotation appendarg audience for from-literal group option prependarg resource-name rule serviceaccount user env as-group as-user-extra exec-env exec-arg'.split(
    ' ',
  ),
)
/** Flags that take pairs, by their command. */
const pairFlags: Readonly<Record<string, readonly string[]>> = { debug: ['env', 'set-image'] }
const aloneMeans: Readonly<Record<string, string>> = {
  'dry-run': 'unchanged',
  validate: 'strict',
  cascade: 'background',
  merge: 'true',
  'embed-certs': 'true',
  'set-raw-bytes': 'true',
  'insecure-skip-tls-verify': 'true',
}

const record: FlagSpec = {
  name: 'record',
  short: '',
  type: 'bool',
  initial: 'false',
  alone: 'true',
  isHidden: true,
  deprecated: '--record will be removed in the future',
}
const recording = new Set(
  'annotate apply autoscale create edit expose label patch replace run scale taint|rollout undo|set image|set env|set resources|set selector|set serviceaccount|rolling-update'
    .split('|')
    .flatMap((part, index) => (index === 0 ? part.split(' ') : [part])),
)

const deprecations: Readonly<Record<string, string>> = {
  'cpu-percent': "Use --cpu with percentage or resource quantity format (e.g., '70%' for utilization or '500m' for milliCPU).",
  reorder: "use the new 'sortOptions' field in kustomization.yaml instead.",
  'enable-managedby-label':
    'The flag `enable-managedby-label` has been deprecated. Use the `managedByLabel` option in the `buildMetadata` field instead.',
}

const root: CommandSpec = { path: '', usage: '[flags] [options]', aliases: [], flags: [] }
let specs: Map<string, CommandSpec> | undefined

export function commandSpecs(): ReadonlyMap<string, CommandSpec> {
  if (specs !== undefined) return specs
  specs = new Map([['', root]])
  for (const line of `${commandLines.trim()}\n${furtherCommands.trim()}`.split('\n')) {
    const [path = '', usage = '', aliases = '', ...flags] = line.split('\t')
    specs.set(path, lazySpec(path, usage, aliases, flags))
  }
  return specs
}

function lazySpec(path: string, usage: string, aliases: string, flags: readonly string[]): CommandSpec {
  let read: FlagSpec[] | undefined
  return {
    path,
    usage,
    aliases: aliases === '' ? [] : aliases.split(','),
    get flags() {
      read ??= [
        ...flags
          .filter((flag) => flag !== '')
          .map(flagSpec)
          .map((flag) => (pairFlags[path]?.includes(flag.name) ? { ...flag, type: 'map' as const } : flag)),
        ...(hiddenFlags[path]
          ?.split('\t')
          .map((flag) => ({ ...flagSpec(flag), isHidden: true, ...defined({ deprecated: deprecations[flag.split('|')[0] ?? ''] }) })) ??
          []),
        ...(recording.has(path) ? [record] : []),
      ]
      return read
    },
  }
}

let globals: FlagSpec[] | undefined
export function globalFlags(): readonly FlagSpec[] {
  globals ??= [...globalFlagLine.split('\t').map(flagSpec)]
  return globals
}

function flagSpec(text: string): FlagSpec {
  const [name = '', short = '', type = 'string', initial = ''] = text.split('|')
  const alone = type === 'bool' ? 'true' : aloneMeans[name]
  return {
    name,
    short,
    type: type === 'list' && wholeArguments.has(name) ? 'array' : (type as FlagType),
    initial,
    ...defined({ alone }),
  }
}

/** The direct parts of a command, in the order of their names. */
export function childrenOf(path: string): CommandSpec[] {
  const depth = path === '' ? 1 : path.split(' ').length + 1
  const prefix = path === '' ? '' : `${path} `
  return [...commandSpecs().values()].filter(
    (spec) => spec.path !== '' && spec.path.startsWith(prefix) && spec.path.split(' ').length === depth,
  )
}

export const lastWord = (path: string): string => path.slice(path.lastIndexOf(' ') + 1)
