/** A profile of system calls as the program that the kernel runs at each of them. */
import { defined } from '#base/defined.ts'
import { systemCallNumbers } from '#base/system-call-numbers.ts'

export type Comparison = {
  index: number
  value: bigint
  op: 'equal' | 'unequal' | 'maskedEqual' | 'less' | 'lessOrEqual' | 'greater' | 'greaterOrEqual'
  mask?: bigint
}
export type FilterRule = { names: readonly string[]; action: number; comparisons?: readonly Comparison[] }
export type FilterProfile = { defaultAction: number; rules: readonly FilterRule[] }

export const filterActions = {
  allow: 0x7fff0000,
  log: 0x7ffc0000,
  trace: 0x7ff00000,
  trap: 0x00030000,
  killThread: 0,
  killProcess: 0x80000000,
} as const
export const failWith = (errno: number): number => 0x00050000 | (errno & 0xffff)

const enosys = 38
const processors = { amd64: 0xc000003e, arm64: 0xc00000b7 } as const
const at = { number: 0, processor: 4, argument: (index: number, half: 'low' | 'high') => 16 + 8 * index + (half === 'high' ? 4 : 0) }

const op = { load: 0x20, ret: 0x06, jumpEqual: 0x15, jumpGreaterOrEqual: 0x35, jumpGreater: 0x25, and: 0x54 } as const

type Instruction = { code: number; yes: number; no: number; value: number }

/** Rules of a call are tried in their order; a call no rule is about gets the default, one the kernel has newly got ENOSYS. */
export function compileFilter({ defaultAction, rules }: FilterProfile, processor: 'amd64' | 'arm64'): Uint8Array {
  const numbers = systemCallNumbers(processor)
  const newest = Math.max(...numbers.values())
  const byNumber = new Map<number, { action: number; comparisons: readonly Comparison[] }[]>()
  for (const { names, action, comparisons = [] } of rules) {
    for (const name of names) {
      const number = numbers.get(name)
      if (number === undefined) continue
      const list = byNumber.get(number) ?? []
      list.push({ action, comparisons })
      byNumber.set(number, list)
    }
  }
  const program: Instruction[] = [
    { code: op.load, yes: 0, no: 0, value: at.processor },
    { code: op.jumpEqual, yes: 1, no: 0, value: processors[processor] },
    { code: op.ret, yes: 0, no: 0, value: failWith(enosys) },
    { code: op.load, yes: 0, no: 0, value: at.number },
    // Those of x32 as well.
    { code: op.jumpGreater, yes: 0, no: 1, value: newest },
    { code: op.ret, yes: 0, no: 0, value: failWith(enosys) },
  ]
  for (const { from, to, action } of plainRanges(byNumber, defaultAction)) program.push(...rangeReturns(from, to, action))
  for (const [number, list] of byNumber) {
    if (list[0]?.comparisons.length === 0) continue
    const body = list.flatMap(({ action, comparisons }) => conditional(action, comparisons))
    body.push(returning(defaultAction))
    // Jumps reach no further than 255 instructions.
    if (body.length > 255) throw new Error(`the seccomp profile has too many rules for the system call ${number}`)
    program.push({ code: op.jumpEqual, yes: 0, no: body.length, value: number }, ...body)
  }
  program.push(returning(defaultAction))
  return encoded(program)
}

const returning = (action: number): Instruction => ({ code: op.ret, yes: 0, no: 0, value: action })

/** Runs of numbers that get the same whatever their arguments: most profiles are a few of these. */
function plainRanges(byNumber: ReadonlyMap<number, { action: number; comparisons: readonly Comparison[] }[]>, defaultAction: number) {
  const ranges: { from: number; to: number; action: number }[] = []
  for (const number of [...byNumber.keys()].sort((one, other) => one - other)) {
    const first = byNumber.get(number)?.[0]
    if (first === undefined || first.comparisons.length > 0 || first.action === defaultAction) continue
    const last = ranges.at(-1)
    if (last !== undefined && last.to === number - 1 && last.action === first.action) last.to = number
    else ranges.push({ from: number, to: number, action: first.action })
  }
  return ranges
}

function rangeReturns(from: number, to: number, action: number): Instruction[] {
  if (from === to) return [{ code: op.jumpEqual, yes: 0, no: 1, value: from }, returning(action)]
  return [
    { code: op.jumpGreaterOrEqual, yes: 0, no: 2, value: from },
    { code: op.jumpGreater, yes: 1, no: 0, value: to },
    returning(action),
  ]
}

/** Returns the action where all comparisons hold, and goes on behind itself where not, with the number loaded again. */
function conditional(action: number, comparisons: readonly Comparison[]): Instruction[] {
  const steps: { instruction: Instruction; failsOn?: 'yes' | 'no'; skips?: number }[] = []
  for (const { index, value, op: how, mask = 0xffffffffffffffffn } of comparisons) {
    const high = Number(value >> 32n) >>> 0
    const low = Number(value & 0xffffffffn) >>> 0
    const load = (half: 'low' | 'high') => steps.push({ instruction: { code: op.load, yes: 0, no: 0, value: at.argument(index, half) } })
    const and = (part: bigint) => {
      const bits = Number(part & 0xffffffffn) >>> 0
      if (how === 'maskedEqual') steps.push({ instruction: { code: op.and, yes: 0, no: 0, value: bits } })
    }
    const test = (code: number, against: number, failsOn: 'yes' | 'no') =>
      steps.push({ instruction: { code, yes: 0, no: 0, value: against }, failsOn })
    if (how === 'equal' || how === 'maskedEqual') {
      load('high')
      and(mask >> 32n)
      test(op.jumpEqual, high, 'no')
      load('low')
      and(mask)
      test(op.jumpEqual, low, 'no')
    } else if (how === 'unequal') {
      load('high')
      // Another high half is another value: the low half need not be looked at.
      steps.push({ instruction: { code: op.jumpEqual, yes: 0, no: 2, value: high } })
      load('low')
      test(op.jumpEqual, low, 'yes')
    } else {
      const isAbove = how === 'greater' || how === 'greaterOrEqual'
      load('high')
      // high > wanted: above for certain; high < wanted: below for certain.
      steps.push({
        instruction: { code: op.jumpGreater, yes: isAbove ? 3 : 0, no: 0, value: high },
        ...defined({ failsOn: isAbove ? undefined : ('yes' as const) }),
      })
      steps.push({
        instruction: { code: op.jumpEqual, yes: 0, no: isAbove ? 0 : 2, value: high },
        ...defined({ failsOn: isAbove ? ('no' as const) : undefined }),
      })
      load('low')
      if (how === 'greater') test(op.jumpGreater, low, 'no')
      if (how === 'greaterOrEqual') test(op.jumpGreaterOrEqual, low, 'no')
      if (how === 'less') test(op.jumpGreaterOrEqual, low, 'yes')
      if (how === 'lessOrEqual') test(op.jumpGreater, low, 'yes')
    }
  }
  const body = steps.map(({ instruction, failsOn }, index) => {
    // The action itself comes behind the steps, and what goes on behind that.
    const distance = steps.length - index
    return failsOn === undefined ? instruction : { ...instruction, [failsOn]: distance }
  })
  return [...body, returning(action)]
}

function encoded(program: readonly Instruction[]): Uint8Array {
  if (program.length > 4096) throw new Error('the seccomp profile is too long for the kernel')
  const bytes = Buffer.alloc(8 * program.length)
  for (const [index, { code, yes, no, value }] of program.entries()) {
    bytes.writeUInt16LE(code, 8 * index)
    bytes.writeUInt8(yes, 8 * index + 2)
    bytes.writeUInt8(no, 8 * index + 3)
    bytes.writeUInt32LE(value >>> 0, 8 * index + 4)
  }
  return bytes
}
