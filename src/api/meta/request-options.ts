/** Judges the options of requests: dry run, field manager, field validation, propagation. */
import type { V1CreateOptions, V1DeleteOptions, V1PatchOptions, V1UpdateOptions } from '#api/meta/v1/types.gen.ts'
import type { Check } from './check.ts'
import { validateFieldManager } from './object-meta.ts'

const fieldValidations = ['', 'Ignore', 'Strict', 'Warn']
const propagations = ['Foreground', 'Background', 'Orphan']

export function validateCreateOptions(options: V1CreateOptions | V1UpdateOptions, check: Check): void {
  validateFieldManager(options.fieldManager ?? '', check.at('fieldManager'))
  validateDryRun(options.dryRun, check.at('dryRun'))
  validateFieldValidation(options.fieldValidation ?? '', check.at('fieldValidation'))
}

export function validatePatchOptions(options: V1PatchOptions, isApply: boolean, check: Check): void {
  if (isApply) {
    if (!options.fieldManager) check.at('fieldManager').required('is required for apply patch')
  } else if (options.force !== undefined) check.at('force').forbidden('may not be specified for non-apply patch')
  validateCreateOptions(options, check)
}

export function validateDeleteOptions(options: V1DeleteOptions, check: Check): void {
  const { orphanDependents, propagationPolicy } = options
  const at = check.at('propagationPolicy')
  if (orphanDependents !== undefined && propagationPolicy !== undefined) {
    at.invalid(propagationPolicy, 'orphanDependents and deletionPropagation cannot be both set')
  }
  if (propagationPolicy !== undefined && !propagations.includes(propagationPolicy)) {
    at.notSupported(propagationPolicy, [...propagations, 'nil'])
  }
  validateDryRun(options.dryRun, check.at('dryRun'))
  validateUnreadableDelete(options, check.at('ignoreStoreReadErrorWithClusterBreakingPotential'))
}

/** Deleting what cannot be read goes with no other wish. */
function validateUnreadableDelete(options: V1DeleteOptions, check: Check): void {
  if (options.ignoreStoreReadErrorWithClusterBreakingPotential !== true) return
  if (options.dryRun?.length) check.invalid(true, 'cannot be set together with .dryRun')
  for (const other of ['propagationPolicy', 'orphanDependents', 'gracePeriodSeconds', 'preconditions'] as const) {
    if (options[other] !== undefined) check.invalid(true, `cannot be set together with .${other}`)
  }
}

function validateDryRun(dryRun: readonly string[] | undefined, check: Check): void {
  if (dryRun?.some((value) => value !== 'All')) check.notSupported(dryRun, ['All'])
}

function validateFieldValidation(value: string, check: Check): void {
  if (!fieldValidations.includes(value)) check.notSupported(value, fieldValidations)
}

/** What a Table may carry of each object. */
export function validateTableOptions(includeObject: string, check: Check): void {
  if (['', 'None', 'Metadata', 'Object'].includes(includeObject)) return
  check.at('includeObject').invalid(includeObject, "must be 'Metadata', 'Object', 'None', or empty")
}
