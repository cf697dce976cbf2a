/** The options of a request, from its query (and, for deletes, its body), validated as upstream validates them. */

import { Check, cut, quoted } from '#api/meta/check.ts'
import { validateCreateOptions, validatePatchOptions } from '#api/meta/request-options.ts'
import { badRequest, invalid } from '#api/meta/status-error.ts'
import type { V1DeleteOptions } from '#api/meta/v1/types.gen.ts'
import { isTrue } from '#apiserver/http/request-info.ts'
import { defined } from '#base/defined.ts'

export type WriteOptions = {
  dryRun: string[]
  fieldManager: string
  fieldValidation: 'Ignore' | 'Warn' | 'Strict'
  force: boolean | undefined
}

export function writeOptions(
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
  query: URLSearchParams,
  isApply = false,
): WriteOptions {
  const dryRun = query.getAll('dryRun').filter((each) => each !== '')
  const fieldManager = query.get('fieldManager') ?? ''
  const fieldValidation = query.get('fieldValidation') ?? ''
  const forceText = query.get('force')
  const force = forceText === null ? undefined : isTrue(forceText)
  const check = new Check()
  const given = { dryRun, fieldManager, fieldValidation }
  if (kind === 'PatchOptions') validatePatchOptions(check.with({ ...given, ...defined({ force }) }), isApply)
  else validateCreateOptions(check.with(given))
  if (check.failed) throw invalid({ group: 'meta.k8s.io', kind }, '', check.errors)
  return { dryRun, fieldManager, fieldValidation: (fieldValidation || 'Warn') as WriteOptions['fieldValidation'], force }
}

/** The query's options; a body, where there is one, takes their place as a whole. */
export function deleteOptionsFromQuery(query: URLSearchParams): V1DeleteOptions {
  const options: V1DeleteOptions = {}
  const grace = query.get('gracePeriodSeconds')
  if (grace !== null) options.gracePeriodSeconds = wholeNumber(grace)
  const orphan = query.get('orphanDependents')
  if (orphan !== null) options.orphanDependents = isTrue(orphan)
  const policy = query.get('propagationPolicy')
  if (policy !== null) options.propagationPolicy = policy
  const dryRun = query.getAll('dryRun').filter((each) => each !== '')
  if (dryRun.length > 0) options.dryRun = dryRun
  return options
}

export function wholeNumber(text: string): number {
  if (!/^[+-]?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${quoted(cut(text))}: invalid syntax`)
  // A million digits would take a third of a second to read.
  const isLong = text.replace(/^[+-]?0*/, '').length > longestInt64
  const value = isLong ? undefined : BigInt(text)
  if (value === undefined || value > maxInt64 || value < -maxInt64 - 1n)
    throw badRequest(`strconv.ParseInt: parsing ${quoted(cut(text))}: value out of range`)
  return Number(value)
}

const longestInt64 = 19

const maxInt64 = 2n ** 63n - 1n

export type ListOptions = {
  labelSelector: string
  fieldSelector: string
  limit: number
  continueToken: string
  resourceVersion: string
  resourceVersionMatch: string
  timeoutSeconds: number | undefined
  allowWatchBookmarks: boolean
  sendInitialEvents: boolean | undefined
  isWatch: boolean
}

export function listOptions(query: URLSearchParams, isWatch: boolean): ListOptions {
  const timeout = query.get('timeoutSeconds')
  const initial = query.get('sendInitialEvents')
  const limit = query.get('limit')
  const bookmarks = query.get('allowWatchBookmarks')
  return {
    labelSelector: query.get('labelSelector') ?? '',
    fieldSelector: query.get('fieldSelector') ?? '',
    limit: limit === null ? 0 : wholeNumber(limit),
    continueToken: query.get('continue') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    timeoutSeconds: timeout === null ? undefined : wholeNumber(timeout),
    allowWatchBookmarks: bookmarks !== null && isTrue(bookmarks),
    sendInitialEvents: initial === null ? undefined : isTrue(initial),
    isWatch,
  }
}

export function validateListOptions(options: ListOptions): void {
  const check = new Check()
  if (options.isWatch) validateWatch(check.with(options))
  else validateList(check.with(options))
  if (check.failed) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', check.errors)
}

function validateList(check: Check<ListOptions>): void {
  const { resourceVersion, resourceVersionMatch: match, continueToken, sendInitialEvents } = check.value
  const at = check.at('resourceVersionMatch')
  if (match !== '') {
    if (resourceVersion === '') at.forbidden('resourceVersionMatch is forbidden unless resourceVersion is provided')
    if (continueToken !== '') at.forbidden('resourceVersionMatch is forbidden when continue is provided')
    if (match !== 'Exact' && match !== 'NotOlderThan') at.notSupported(['Exact', 'NotOlderThan', ''])
    if (match === 'Exact' && resourceVersion === '0') at.forbidden('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
  }
  if (sendInitialEvents !== undefined) check.at('sendInitialEvents').forbidden('sendInitialEvents is forbidden for list')
}

function validateWatch(check: Check<ListOptions>): void {
  const { resourceVersionMatch: match, continueToken, sendInitialEvents } = check.value
  const at = check.at('resourceVersionMatch')
  if (sendInitialEvents !== undefined && match !== 'NotOlderThan') {
    at.forbidden('sendInitialEvents requires setting resourceVersionMatch to NotOlderThan')
  }
  if (match === '') return
  if (sendInitialEvents === undefined) at.forbidden('resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided')
  if (match !== 'NotOlderThan') at.notSupported(['NotOlderThan'])
  if (continueToken !== '') at.forbidden('resourceVersionMatch is forbidden when continue is provided')
}
