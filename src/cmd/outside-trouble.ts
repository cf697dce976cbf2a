/** Trouble with a file or a connection, in words that name the flag that led to it. */
import { flagName } from '#base/options.ts'

const troubles: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `there is no file ${path}`,
  EISDIR: (path) => `${path} is a directory`,
  ENOTDIR: (path) => `a part of ${path} is not a directory`,
  EACCES: (path) => `no permission for ${path}`,
  EPERM: (path) => `no permission for ${path}`,
  EROFS: (path) => `the file system of ${path} cannot be written to`,
  ENOSPC: (path) => `the disk of ${path} is full`,
}

/** `--kubeconfig: there is no file /nowhere`; undefined where it is trouble of another kind. */
export function outsideTrouble(error: unknown, flags: Readonly<Record<string, unknown>>): string | undefined {
  const { code = '', path, address, port } = (error ?? {}) as { code?: string; path?: string; address?: string; port?: number }
  if (code === 'ECONNREFUSED' && address !== undefined)
    return `nobody answers at ${address}:${port}; does the cluster run? See typernetes list`
  if (isFullStore(error)) return fullDisk(flags)
  const trouble = troubles[code]
  if (trouble === undefined) return undefined
  if (typeof path !== 'string') return code === 'ENOSPC' ? fullDisk(flags) : undefined
  // A file that was being written had another name until it was whole.
  const target = path.replace(/\.\d+\.\d+\.draft$/, '')
  const flag = Object.entries(flags).find(([, value]) => value === target || (Array.isArray(value) && value.includes(target)))?.[0]
  const isWrite = target !== path
  const text = isWrite && code === 'ENOENT' ? `cannot write to ${target}: there is no such directory` : trouble(target)
  return flag === undefined ? text : `--${flagName(flag)}: ${text}`
}

/** SQLite tells it in words, and does not say of which file. */
function isFullStore(error: unknown): boolean {
  return error instanceof Error && (error.message.endsWith('database or disk is full') || isFullStore(error.cause))
}

/** What is written without a name of its own is the cluster's. */
function fullDisk({ dataDir }: Readonly<Record<string, unknown>>): string {
  return typeof dataDir === 'string' && dataDir !== '' ? `--data-dir: the disk of ${dataDir} is full` : 'the disk is full'
}
