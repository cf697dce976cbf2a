import { createHash } from 'node:crypto'
import { LimitRange } from '#api/core/v1/kinds.gen.ts'
import { type ResourceList, roundUpToMillis } from '#api/core/v1/quantities.ts'
import { isOvercommitAllowed, validateAnyResourceName, validateContainerResourceName } from '#api/core/v1/resource-names.ts'
import type { V1LimitRange, V1LimitRangeItem } from '#api/core/v1/types.gen.ts'
import type { Check } from '#api/meta/check.ts'
import { defaultColumns } from '#api/meta/columns.ts'
import { nameIsDns1123Subdomain, qualifiedName } from '#api/meta/names.ts'
import { validateObjectMeta } from '#api/meta/object-meta.ts'
import { parseQuantity, type Quantity } from '#api/meta/quantity.ts'
import { defineResource } from '#api/resource.ts'

export const limitRangeResource = defineResource(LimitRange, {
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: true,

  defaults({ spec }) {
    for (const limit of spec?.limits ?? []) defaultLimit(limit)
  },

  prepareForCreate({ metadata }) {
    // Upstream's oldest clients named nothing: a range without a name gets some identifier, other than its uid.
    if (!metadata.name && metadata.uid) metadata.name = identifierFrom(metadata.uid)
  },
  validate: validateLimits,
  revalidatesMetadata: false,
  validateUpdate(next, _prev, check) {
    validateObjectMeta(check.at('metadata'), { scope: 'Namespaced', nameRule: nameIsDns1123Subdomain })
    validateLimits(next, check)
  },

  columns: defaultColumns,
})

function identifierFrom(uid: string): string {
  const hex = createHash('sha256').update(uid).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-')
}

const lists = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const

function defaultLimit(limit: V1LimitRangeItem): void {
  if (limit.type === 'Container') {
    limit.default = { ...limit.max, ...limit.default }
    limit.defaultRequest = { ...limit.min, ...limit.default, ...limit.defaultRequest }
  }
  for (const list of lists) roundUpToMillis(limit[list])
}

const standardTypes = ['Pod', 'Container', 'PersistentVolumeClaim']

function validateLimits(_object: V1LimitRange, check: Check<V1LimitRange>): void {
  const types = new Set<string>()
  for (const at of check.at('spec').at('limits').items()) {
    const limit = at.value
    const type = limit.type ?? ''
    const messages = qualifiedName(type)
    for (const message of messages) at.at('type').or('').invalid(message)
    if (messages.length === 0 && !type.includes('/') && !standardTypes.includes(type)) {
      at.at('type').or('').invalid('must be a standard limit type or fully qualified')
    }
    if (types.has(type)) at.at('type').or('').duplicate()
    types.add(type)
    validateLimit(at)
  }
}

function validateLimit(check: Check<V1LimitRangeItem>): void {
  const limit = check.value
  const names = new Set<string>()
  const validateNames = (list: (typeof lists)[number]) => {
    for (const name in limit[list]) {
      const at = check.at(list).key(name)
      if (limit.type === 'Pod' || limit.type === 'Container') validateContainerResourceName(at.with(name))
      else validateAnyResourceName(at.with(name))
      names.add(name)
    }
  }
  validateNames('max')
  validateNames('min')
  if (limit.type === 'Pod') {
    for (const list of ['default', 'defaultRequest'] as const) {
      if (Object.keys(limit[list] ?? {}).length > 0) check.at(list).forbidden("may not be specified when `type` is 'Pod'")
    }
  } else {
    validateNames('default')
    validateNames('defaultRequest')
  }
  if (limit.type === 'PersistentVolumeClaim' && limit.min?.['storage'] === undefined && limit.max?.['storage'] === undefined) {
    check.dynamic('limits').required('either minimum or maximum storage value is required, but neither was provided')
  }
  validateNames('maxLimitRequestRatio')
  for (const name of names) validateRelations(name, check)
}

const quantityOf = (list: ResourceList | undefined, name: string): Quantity | undefined =>
  list?.[name] === undefined ? undefined : parseQuantity(list[name])

const isGreater = (one: Quantity | undefined, other: Quantity | undefined): boolean =>
  one !== undefined && other !== undefined && one.compare(other) > 0

function validateRelations(name: string, check: Check<V1LimitRangeItem>): void {
  const limit = check.value
  const isPod = limit.type === 'Pod'
  const min = quantityOf(limit.min, name)
  const max = quantityOf(limit.max, name)
  const ofDefault = isPod ? undefined : quantityOf(limit.default, name)
  const request = isPod ? undefined : quantityOf(limit.defaultRequest, name)
  const ratio = quantityOf(limit.maxLimitRequestRatio, name)
  const report = (list: (typeof lists)[number], shown: Quantity | undefined, message: string) =>
    check.at(list).key(name).invalid(message, String(shown))
  if (isGreater(min, max)) report('min', min, `min value ${min} is greater than max value ${max}`)
  if (isGreater(min, request)) report('defaultRequest', request, `min value ${min} is greater than default request value ${request}`)
  if (isGreater(request, max)) report('defaultRequest', request, `default request value ${request} is greater than max value ${max}`)
  if (isGreater(request, ofDefault)) {
    report('defaultRequest', request, `default request value ${request} is greater than default limit value ${ofDefault}`)
  }
  if (isGreater(min, ofDefault)) report('default', min, `min value ${min} is greater than default value ${ofDefault}`)
  if (isGreater(ofDefault, max)) report('default', max, `default value ${ofDefault} is greater than max value ${max}`)
  if (ratio) validateRatio(ratio, min, max, (message) => report('maxLimitRequestRatio', ratio, message))
  const isUneven = ofDefault !== undefined && request !== undefined && ofDefault.compare(request) !== 0
  if (isUneven && !isOvercommitAllowed(name)) {
    report('defaultRequest', request, `default value ${ofDefault} must equal to defaultRequest value ${request} in ${name}`)
  }
}

const largestMilliValue = Number((2n ** 63n - 1n) / 1000n)

function validateRatio(ratio: Quantity, min: Quantity | undefined, max: Quantity | undefined, report: (message: string) => void): void {
  if (ratio.compare(parseQuantity('1')) < 0) report(`ratio ${ratio} is less than 1`)
  if (min === undefined || max === undefined) return
  const canBeFine = [ratio, min, max].every((quantity) => quantity.value() < largestMilliValue)
  const [asked, low, high] = canBeFine
    ? [ratio.milliValue() / 1000, min.milliValue(), max.milliValue()]
    : [ratio.value(), min.value(), max.value()]
  const possible = high / low
  if (asked > possible) report(`ratio ${ratio} is greater than max/min = ${possible.toFixed(6)}`)
}
