/** What a command may be told, by its place on the line. */
import { type CommandSpec, childrenOf, lastWord } from '#cli/flags/command-spec.ts'
import { directives, type Position, type Words } from './words.ts'

/** Ours, and those of old: they are known, but not offered. */
const hidden = new Set('__complete alpha convert rolling-update run-container stop tree ui why'.split(' '))

export const subcommands = ({ path }: CommandSpec): string[] =>
  childrenOf(path)
    .map((child) => lastWord(child.path))
    .filter((word) => path !== '' || !hidden.has(word))
    .sort()

const anyType = new Set('get describe delete edit label annotate patch debug'.split(' '))
const someTypes: Readonly<Record<string, readonly string[]>> = {
  'rollout history': ['deployment', 'daemonset', 'statefulset'],
  'rollout status': ['deployment', 'daemonset', 'statefulset'],
  'rollout undo': ['deployment', 'daemonset', 'statefulset'],
  'rollout restart': ['deployment', 'daemonset', 'statefulset'],
  'rollout pause': ['deployment'],
  'rollout resume': ['deployment'],
  scale: ['deployment', 'replicaset', 'replicationcontroller', 'statefulset'],
  autoscale: ['deployment', 'replicaset', 'replicationcontroller', 'statefulset'],
  expose: ['pod', 'service', 'replicationcontroller', 'deployment', 'replicaset'],
  taint: ['node'],
  'set image': ['daemonsets', 'deployments', 'pods', 'cronjobs', 'replicasets', 'replicationcontrollers', 'statefulsets'],
}
const withPods = ['daemonsets', 'deployments', 'pods', 'jobs', 'replicasets', 'replicationcontrollers', 'services', 'statefulsets']
const podCommands = new Set(['logs', 'exec', 'attach', 'port-forward'])
const namesAlone: Readonly<Record<string, string>> = {
  cordon: 'nodes',
  uncordon: 'nodes',
  drain: 'nodes',
  'top node': 'nodes',
  'top pod': 'pods',
  'create token': 'serviceaccounts',
}
const configEntries: Readonly<Record<string, 'contexts' | 'clusters' | 'users'>> = {
  'config use-context': 'contexts',
  'config delete-context': 'contexts',
  'config rename-context': 'contexts',
  'config set-context': 'contexts',
  'config delete-cluster': 'clusters',
  'config delete-user': 'users',
}

export async function argumentWords(position: Position): Promise<Words> {
  const { line, cluster, last } = position
  const { path } = line.command
  const listed = (words: readonly string[]): Words => ({ words, directive: directives.noFiles })
  const alone = namesAlone[path]
  if (alone !== undefined) return listed(without(await cluster.names(alone), line.args))
  if (path === 'completion') return listed(line.args.length === 0 ? ['bash', 'fish', 'powershell', 'zsh'] : [])
  const entries = configEntries[path]
  if (entries !== undefined) return listed(line.args.length === 0 ? await cluster.entries(entries) : [])
  if (podCommands.has(path)) return listed(line.args.length === 0 ? await podWords(position) : [])
  if (path === 'cp') return copyWords(position)
  const types = someTypes[path] ?? (anyType.has(path) ? await cluster.types() : undefined)
  if (types === undefined) return { words: [], directive: directives.plain }
  if (last.includes('/')) return listed(await slashNames(position))
  const [first] = line.args
  // Several types stand one after another with commas.
  const typed = last.slice(0, last.lastIndexOf(',') + 1)
  if (first === undefined) return listed(types.map((type) => `${typed}${type}`))
  // Whoever has begun with TYPE/NAME goes on like that.
  if (first.includes('/')) return { words: types.map((type) => `${type}/`), directive: directives.noFiles | directives.noSpace }
  return listed(without(await cluster.names(first), line.args.slice(1)))
}

const without = (words: readonly string[], given: readonly string[]): string[] => words.filter((word) => !given.includes(word))

async function slashNames({ cluster, last }: Position): Promise<string[]> {
  const [type = ''] = last.split('/', 1)
  return (await cluster.names(type)).map((name) => `${type}/${name}`)
}

async function podWords(position: Position): Promise<string[]> {
  if (position.last.includes('/')) return slashNames(position)
  return [...(await position.cluster.names('pods')), ...withPods.map((type) => `${type}/`)]
}

/** A pod, a namespace before it, or a file. */
async function copyWords({ cluster, last }: Position): Promise<Words> {
  if (/[./]/.test(last)) return { words: [], directive: directives.plain }
  const [namespaces, pods] = [await cluster.names('namespaces'), await cluster.names('pods')]
  return { words: [...namespaces.map((name) => `${name}/`), ...pods.map((name) => `${name}:`), './', '/'], directive: directives.noSpace }
}
