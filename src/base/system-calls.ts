/** System calls that Node has no function for, by its foreign function interface. They block the thread: only for those that return at once. */
import { constants } from 'node:os'
import { systemCallNumbers } from '#base/system-call-numbers.ts'

type Ffi = {
  dlopen(path: string | null, functions: Record<string, { return: string; arguments: string[] }>): { functions: Record<string, Native> }
  getRawPointer(bytes: Uint8Array): bigint
  getInt32(pointer: bigint, offset: number): number
}
type Native = (...args: bigint[]) => bigint

/** Texts get the zero at their end; bytes may be written to by the call. */
export type SystemCallArgument = number | bigint | string | Uint8Array

export class SystemCallError extends Error {
  override name = 'SystemCallError'
  /** `EPERM`, … */
  readonly code: string
  constructor(call: string, what: string, errno: number) {
    const code = errnoNames.get(errno) ?? `errno ${errno}`
    super(`${call}${what === '' ? '' : ` ${what}`}: ${errorTextOf(errno)}`)
    this.code = code
  }
}

// Of two names for one number the first is the usual one: EAGAIN, not EWOULDBLOCK.
const errnoNames = new Map(
  Object.entries(constants.errno)
    .map(([name, value]) => [value, name] as const)
    .reverse(),
)

/** As the C library says it: `no such file or directory`. */
export function errorTextOf(errno: number): string {
  const name = errnoNames.get(errno) ?? ''
  return errorTexts[name] ?? (name === '' ? `errno ${errno}` : name)
}

const errorTexts: Record<string, string> = {
  EPERM: 'operation not permitted',
  ENOENT: 'no such file or directory',
  EIO: 'input/output error',
  ENOEXEC: 'exec format error',
  EACCES: 'permission denied',
  EBUSY: 'device or resource busy',
  EEXIST: 'file exists',
  ENODEV: 'no such device',
  ENOTDIR: 'not a directory',
  EISDIR: 'is a directory',
  EINVAL: 'invalid argument',
  ENOSPC: 'no space left on device',
  EROFS: 'read-only file system',
  ELOOP: 'too many levels of symbolic links',
  ENOSYS: 'function not implemented',
  ENOMEM: 'cannot allocate memory',
  EAGAIN: 'resource temporarily unavailable',
  ETXTBSY: 'text file busy',
  E2BIG: 'argument list too long',
}

export const thisProcessor: 'amd64' | 'arm64' = process.arch === 'arm64' ? 'arm64' : 'amd64'

let native: { ffi: Ffi; call: Native; errno: Native; numbers: ReadonlyMap<string, number> } | undefined

function load() {
  if (native !== undefined) return native
  const ffi = withoutWarning(() => process.getBuiltinModule('node:ffi' as 'node:fs') as unknown as Ffi | undefined)
  if (ffi === undefined || process.platform !== 'linux')
    throw new Error('system calls need Linux and a Node.js with node:ffi (26.10 or newer)')
  const six = ['int64', 'int64', 'int64', 'int64', 'int64', 'int64', 'int64']
  const { functions } = withoutWarning(() =>
    ffi.dlopen(null, { syscall: { return: 'int64', arguments: six }, __errno_location: { return: 'pointer', arguments: [] } }),
  )
  const { syscall, __errno_location: errno } = functions
  if (syscall === undefined || errno === undefined) throw new Error('the C library has no function syscall')
  native = { ffi, call: syscall, errno, numbers: systemCallNumbers(thisProcessor) }
  return native
}

/** That the interface is an experiment of Node's is nothing that users could act upon. */
function withoutWarning<T>(load: () => T): T {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}

type Allocator = { trim?: Native | undefined; tune?: ((parameter: number, value: number) => number) | undefined }

let allocator: Allocator | undefined

/** Empty where the C library is another one than GNU's. */
function allocatorOf(): Allocator {
  if (allocator !== undefined) return allocator
  try {
    const { ffi } = load()
    const names = { malloc_trim: { return: 'int32', arguments: ['uint64'] }, mallopt: { return: 'int32', arguments: ['int32', 'int32'] } }
    const { functions } = withoutWarning(() => ffi.dlopen(null, names))
    allocator = { trim: functions['malloc_trim'], tune: functions['mallopt'] as unknown as Allocator['tune'] }
  } catch {
    allocator = {}
  }
  return allocator
}

/** The C library hands memory back to the machine that was freed and that it keeps; where it is another library, nothing happens. */
export function trimAllocator(): void {
  allocatorOf().trim?.(0n)
}

/** `M_ARENA_MAX` and `M_MMAP_THRESHOLD` of GNU's C library. */
const mostArenas = -8
const mappedFrom = -3
/** Twice the pieces that large answers are made in: those come and go, and mapping each anew would cost more than filling it. */
const mappedBytes = 512 << 10

/**
 * Threads that take memory in turn do not need a store of it each: those that have none yet share two. What is large comes from the machine
 * and goes back to it: among small things that stay it would leave holes, of which pages that are used in part are never given back.
 */
export function tuneAllocator(): void {
  const { tune } = allocatorOf()
  tune?.(mostArenas, 2)
  tune?.(mappedFrom, mappedBytes)
}

/** Why there are no system calls here; undefined where there are. */
export function whyNoSystemCalls(): string | undefined {
  try {
    load()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Throws `SystemCallError`. */
export function systemCall(name: string, ...args: SystemCallArgument[]): number {
  const { ffi, call, errno, numbers } = load()
  const number = numbers.get(name)
  if (number === undefined) throw new Error(`there is no system call ${name} on this machine`)
  // Held in a variable, so that they are not collected while the kernel looks at them.
  const held = args.map((arg) => (typeof arg === 'string' ? Buffer.from(`${arg}\0`) : arg))
  const words = held.map((arg) => (arg instanceof Uint8Array ? ffi.getRawPointer(arg) : BigInt(arg)))
  while (words.length < 6) words.push(0n)
  const result = Number(call(BigInt(number), ...words))
  if (result !== -1) return result
  const what = args.find((arg) => typeof arg === 'string') ?? ''
  throw new SystemCallError(name, String(what), ffi.getInt32(errno(), 0))
}
