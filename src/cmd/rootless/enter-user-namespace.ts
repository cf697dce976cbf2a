/** Without root: the program is started again in a user namespace, where it is root of what it makes there. */
import { delimiter, join } from 'node:path'
import { nodeFiles } from '#base/files.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import { isRootless, livingHolder } from '#cmd/rootless/namespace-record.ts'

/** In the environment of who is in namespaces of the cluster's own: `ready`, or why there are none. */
const mark = 'TYPERNETES_USER_NAMESPACE'
const ready = 'ready'

export const isInOwnNamespaces = (): boolean => thisProcess.environment[mark] === ready && thisProcess.userNamespace !== undefined

/** Becomes the same program in the namespaces of the cluster, new ones where there are none. Returns what is missing, where it cannot. */
export async function enterUserNamespace(dataDir: string): Promise<string | undefined> {
  if (thisMachine().platform !== 'linux') return 'Linux'
  const missing = (await Promise.all(needed.map(async (name) => [name, await programPath(name)] as const)))
    .filter(([, path]) => path === undefined)
    .map(([name]) => name)
  if (missing.length > 0) return `the programs ${missing.join(', ')} (on Debian: apt install iproute2 nftables util-linux)`
  const { whyNoSystemCalls } = await import('#base/system-calls.ts')
  const why = whyNoSystemCalls()
  if (why !== undefined) return `a Node.js that makes system calls: ${why}`
  const holder = await livingHolder(dataDir, nodeFiles)
  if (holder !== undefined)
    return become('nsenter', ['--user', '--mount', '--uts', '--ipc', '--preserve-credentials', `--target=${holder}`])
  const plain = ['--user', '--map-root-user', '--mount', '--uts', '--ipc']
  const { exitCode } = await nodeProcesses.run('unshare', [...plain, '--net', 'true'])
  if (exitCode !== 0) return 'user namespaces, which are not allowed here'
  // In a container whose /proc is partly hidden, the kernel lets nobody have another that is not.
  const withFiles = ['--net', '--pid', '--fork', '--mount-proc', 'true']
  if ((await nodeProcesses.run('unshare', [...plain, ...withFiles])).exitCode !== 0) return 'a /proc of which nothing is hidden'
  // With ranges of /etc/subuid and /etc/subgid, containers can have users of their own.
  const withUsers = [...plain, '--map-auto']
  const hasUsers = (await nodeProcesses.run('unshare', [...withUsers, 'true'])).exitCode === 0
  return become('unshare', hasUsers ? withUsers : plain)
}

/** For those who look after a cluster that runs without root. Returns where there is nothing to enter. */
export async function enterToLookAfter(dataDir: string): Promise<void> {
  if (thisProcess.isRoot || !(await isRootless(dataDir, nodeFiles))) return
  const missing = await enterUserNamespace(dataDir)
  if (missing !== undefined) throw new Error(`what the cluster in ${dataDir} has left needs root (sudo), or ${missing}`)
}

const needed = ['unshare', 'nsenter', 'ip', 'nft']

async function become(name: string, args: readonly string[]): Promise<never> {
  const path = (await programPath(name)) ?? name
  const program = [thisProcess.executable, ...thisProcess.argv.slice(1)]
  const environment = { ...thisProcess.environment, [mark]: ready, PATH: searchPath().join(delimiter) }
  return thisProcess.replaceBy(path, [...args, '--', ...program], environment)
}

/** A user's path may leave out where Debian has what administrators use. */
function searchPath(): string[] {
  const own = (thisProcess.environment['PATH'] ?? '').split(delimiter)
  return [...own, ...['/usr/sbin', '/sbin'].filter((directory) => !own.includes(directory))]
}

async function programPath(name: string): Promise<string | undefined> {
  for (const directory of searchPath()) {
    const path = join(directory, name)
    if ((await nodeFiles.statTarget(path).catch(() => undefined))?.kind === 'file') return path
  }
  return undefined
}
