/** Validates the options of requests: dry run, field manager, field validation, propagation. */
import type { V1CreateOptions, V1DeleteOptions, V1PatchOptions, V1UpdateOptions } from '#api/meta/v1/types.gen.ts'
import type { Check } from './check.ts'
import { validateFieldManager } from './object-meta.ts'

const fieldValidations = ['', 'Ignore', 'Strict', 'Warn']
const propagations = ['Foreground', 'Background', 'Orphan']

export function validateCreateOptions(check: Check<V1CreateOptions | V1UpdateOptions>): void {
  validateFieldManager(check.at('fieldManager').or(''))
  validateDryRun(check.at('dryRun'))
  validateFieldValidation(check.at('fieldValidation').or(''))
}

export function validatePatchOptions(check: Check<V1PatchOptions>, isApply: boolean): void {
  const options = check.value
  if (isApply) {
    if (!options.fieldManager) check.at('fieldManager').required('is required for apply patch')
  } else if (options.force !== undefined) check.at('force').forbidden('may not be specified for non-apply patch')
  validateCreateOptions(check)
}

export function validateDeleteOptions(check: Check<V1DeleteOptions>): void {
  const options = check.value
  const { orphanDependents, propagationPolicy } = options
  const at = check.at('propagationPolicy')
  if (orphanDependents !== undefined && propagationPolicy !== undefined) {
    at.invalid('orphanDependents and deletionPropagation cannot be both set')
  }
  if (propagationPolicy !== undefined && !propagations.includes(propagationPolicy)) {
    at.notSupported([...propagations, 'nil'])
  }
  validateDryRun(check.at('dryRun'))
  validateUnreadableDelete(options, check.at('ignoreStoreReadErrorWithClusterBreakingPotential'))
}

/** Deleting what cannot be read goes with no other wish. */
function validateUnreadableDelete(options: V1DeleteOptions, check: Check<unknown>): void {
  if (options.ignoreStoreReadErrorWithClusterBreakingPotential !== true) return
  if (options.dryRun?.length) check.invalid('cannot be set together with .dryRun', true)
  for (const other of ['propagationPolicy', 'orphanDependents', 'gracePeriodSeconds', 'preconditions'] as const) {
    if (options[other] !== undefined) check.invalid(`cannot be set together with .${other}`, true)
  }
}

function validateDryRun(check: Check<readonly string[] | undefined>): void {
  const dryRun = check.value
  if (dryRun?.some((value) => value !== 'All')) check.notSupported(['All'])
}

function validateFieldValidation(check: Check<string>): void {
  const value = check.value
  if (!fieldValidations.includes(value)) check.notSupported(fieldValidations)
}

/** What a Table may carry of each object. */
export function validateTableOptions(check: Check<{ includeObject: string }>): void {
  const includeObject = check.at('includeObject')
  if (['', 'None', 'Metadata', 'Object'].includes(includeObject.value)) return
  includeObject.invalid("must be 'Metadata', 'Object', 'None', or empty")
}
