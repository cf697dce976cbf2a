import { type Comparison, type FilterProfile, filterActions } from '#runtime/seccomp/compile-filter.ts'

const operators: Record<Comparison['op'], string> = {
  equal: 'SCMP_CMP_EQ',
  unequal: 'SCMP_CMP_NE',
  maskedEqual: 'SCMP_CMP_MASKED_EQ',
  less: 'SCMP_CMP_LT',
  lessOrEqual: 'SCMP_CMP_LE',
  greater: 'SCMP_CMP_GT',
  greaterOrEqual: 'SCMP_CMP_GE',
}
const actions = new Map<number, string>([
  [filterActions.allow, 'SCMP_ACT_ALLOW'],
  [filterActions.log, 'SCMP_ACT_LOG'],
  [filterActions.trace, 'SCMP_ACT_TRACE'],
  [filterActions.trap, 'SCMP_ACT_TRAP'],
  [filterActions.killThread, 'SCMP_ACT_KILL_THREAD'],
  [filterActions.killProcess, 'SCMP_ACT_KILL_PROCESS'],
])
const failure = 0x0005

/** A profile in the words of OCI runtimes. */
export function ociSeccomp({ defaultAction, rules }: FilterProfile, processor: 'amd64' | 'arm64'): object {
  const { action, errnoRet } = actionOf(defaultAction)
  return {
    ...{ defaultAction: action, ...(errnoRet === undefined ? {} : { defaultErrnoRet: errnoRet }) },
    architectures: [processor === 'amd64' ? 'SCMP_ARCH_X86_64' : 'SCMP_ARCH_AARCH64'],
    syscalls: rules.map(({ names, action, comparisons = [] }) => ({
      names,
      ...actionOf(action),
      args: comparisons.map(({ index, op, value, mask = 0n }) =>
        op === 'maskedEqual'
          ? { index, op: operators[op], value: Number(mask), valueTwo: Number(value) }
          : { index, op: operators[op], value: Number(value) },
      ),
    })),
  }
}

function actionOf(action: number): { action: string; errnoRet?: number } {
  if (action >>> 16 === failure) return { action: 'SCMP_ACT_ERRNO', errnoRet: action & 0xffff }
  return { action: actions.get(action) ?? 'SCMP_ACT_KILL_PROCESS' }
}
