/** Profiles of system calls that pods name (`Localhost`): the JSON that Docker and runc read. */
import { hasCapability } from '#runtime/launch/capabilities.ts'
import { type Comparison, type FilterProfile, type FilterRule, failWith, filterActions } from '#runtime/seccomp/compile-filter.ts'

type Written = {
  defaultAction?: string
  defaultErrnoRet?: number
  syscalls?: {
    name?: string
    names?: string[]
    action?: string
    errnoRet?: number
    args?: { index?: number; value?: number; valueTwo?: number; op?: string }[] | null
    includes?: { caps?: string[]; arches?: string[] }
    excludes?: { caps?: string[]; arches?: string[] }
  }[]
}

const eperm = 1

export function readProfile(text: string, capabilities: bigint, processor: 'amd64' | 'arm64'): FilterProfile {
  const { defaultAction = '', defaultErrnoRet, syscalls = [] } = JSON.parse(text) as Written
  const applies = ({ includes = {}, excludes = {} }: NonNullable<Written['syscalls']>[number]): boolean => {
    const has = (name: string) => hasCapability(capabilities, name.replace(/^CAP_/, ''))
    if (includes.caps?.length && !includes.caps.every(has)) return false
    if (excludes.caps?.some(has)) return false
    if (includes.arches?.length && !includes.arches.includes(processor)) return false
    return !excludes.arches?.includes(processor)
  }
  const rules: FilterRule[] = syscalls.filter(applies).map(({ name, names = [], action = '', errnoRet, args }) => ({
    names: name === undefined ? names : [name, ...names],
    action: actionOf(action, errnoRet),
    comparisons: (args ?? []).map(comparisonOf),
  }))
  return { defaultAction: actionOf(defaultAction, defaultErrnoRet), rules }
}

function actionOf(name: string, errnoRet = eperm): number {
  switch (name) {
    case 'SCMP_ACT_ALLOW':
      return filterActions.allow
    case 'SCMP_ACT_LOG':
      return filterActions.log
    case 'SCMP_ACT_ERRNO':
      return failWith(errnoRet)
    case 'SCMP_ACT_TRACE':
      return filterActions.trace
    case 'SCMP_ACT_TRAP':
      return filterActions.trap
    case 'SCMP_ACT_KILL':
    case 'SCMP_ACT_KILL_THREAD':
      return filterActions.killThread
    case 'SCMP_ACT_KILL_PROCESS':
      return filterActions.killProcess
    default:
      throw new Error(`the seccomp profile has an action that is not known: ${JSON.stringify(name)}`)
  }
}

const operators: Record<string, Comparison['op']> = {
  SCMP_CMP_EQ: 'equal',
  SCMP_CMP_NE: 'unequal',
  SCMP_CMP_MASKED_EQ: 'maskedEqual',
  SCMP_CMP_LT: 'less',
  SCMP_CMP_LE: 'lessOrEqual',
  SCMP_CMP_GT: 'greater',
  SCMP_CMP_GE: 'greaterOrEqual',
}

function comparisonOf({
  index = 0,
  value = 0,
  valueTwo = 0,
  op = '',
}: {
  index?: number
  value?: number
  valueTwo?: number
  op?: string
}): Comparison {
  const operator = operators[op]
  if (operator === undefined) throw new Error(`the seccomp profile has an operator that is not known: ${JSON.stringify(op)}`)
  // Of a masked comparison the first value is the mask.
  if (operator === 'maskedEqual') return { index, op: operator, mask: BigInt(value), value: BigInt(valueTwo) }
  return { index, op: operator, value: BigInt(value) }
}
