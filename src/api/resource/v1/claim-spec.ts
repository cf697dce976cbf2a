/** Defaults and rules of what a claim asks for, alone or in a template. */
import type { Check } from '#api/meta/check.ts'
import { dns1123Label, dns1123Subdomain, mustBe } from '#api/meta/names.ts'
import { boundedList, boundedSet } from '#api/resource/v1/bounded.ts'
import { validateDeviceConfiguration } from '#api/resource/v1/device-configuration.ts'
import { type RequestNames, requestNamesOf, validateFullyQualifiedName, validateRequestReference } from '#api/resource/v1/device-names.ts'
import { compileSelectors, maxSelectors, validateDeviceSelectors } from '#api/resource/v1/device-selectors.ts'
import { validateDeviceToleration } from '#api/resource/v1/device-taints.ts'
import type {
  V1DeviceConstraint,
  V1DeviceRequest,
  V1DeviceSubRequest,
  V1ExactDeviceRequest,
  V1ResourceClaim,
  V1ResourceClaimSpec,
} from '#api/resource/v1/types.gen.ts'
import type { RuleContext } from '#api/resource.ts'
import type { Steps } from '#base/steps.ts'

export const maxRequests = 32
const maxAlternatives = 8
const maxConstraints = 32
export const maxConfigurations = 32

export function defaultClaimSpec(spec: V1ResourceClaimSpec): void {
  for (const { exactly, firstAvailable } of spec.devices?.requests ?? []) {
    if (exactly) defaultRequest(exactly)
    for (const alternative of firstAvailable ?? []) defaultRequest(alternative)
  }
}

function defaultRequest(request: V1ExactDeviceRequest | V1DeviceSubRequest): void {
  request.allocationMode ||= 'ExactCount'
  if (request.allocationMode === 'ExactCount') request.count ||= 1
}

/** `check` stands at the spec. */
export function* validateClaimSpec(check: Check<V1ResourceClaimSpec>, context: RuleContext): Steps<void> {
  const { devices = {} } = check.value
  // More requests than there may be are not looked at.
  if (requestsOf(check.value).length <= maxRequests) {
    for (const { selectors } of wantedBy(check.value)) yield* compileSelectors((selectors ?? []).slice(0, maxSelectors))
  }
  const names = requestNamesOf(devices.requests)
  const at = check.at('devices')
  boundedSet(at.at('requests').with(devices.requests), maxRequests, { key: ({ name }) => name ?? '', validate: validateRequest })
  boundedList(at.at('constraints').with(devices.constraints), maxConstraints, (here) => validateConstraint(here, names, context))
  boundedList(at.at('config').with(devices.config), maxConfigurations, (here) => {
    validateRequestReferences(here.at('requests'), names)
    validateDeviceConfiguration(here, false)
  })
}

export function validateRequestReferences(check: Check<readonly string[] | undefined>, names: RequestNames): void {
  const references = check.value
  boundedSet(check.with(references), maxRequests, {
    key: (reference) => reference,
    validate: (at) => validateRequestReference(at, names),
  })
}

function validateRequest(check: Check<V1DeviceRequest>): void {
  const { exactly, firstAvailable } = check.value
  mustBe(dns1123Label, check.at('name').or(''))
  const hasAlternatives = firstAvailable !== undefined && firstAvailable.length > 0
  if (!exactly && !hasAlternatives) check.required('exactly one of `exactly` or `firstAvailable` is required')
  else if (exactly && hasAlternatives) {
    check.invalid('exactly one of `exactly` or `firstAvailable` is required, but multiple fields are set', null)
  } else if (exactly) validateWanted(check.at('exactly').present)
  else {
    boundedSet(check.at('firstAvailable').with(firstAvailable), maxAlternatives, {
      key: (alternative) => alternative.name ?? '',
      validate(at) {
        mustBe(dns1123Label, at.at('name').or(''))
        validateWanted(at)
      },
    })
  }
}

function validateWanted(check: Check<V1ExactDeviceRequest | V1DeviceSubRequest>): void {
  const request = check.value
  if (!request.deviceClassName) check.at('deviceClassName').required()
  else mustBe(dns1123Subdomain, check.at('deviceClassName'))
  validateDeviceSelectors(check.at('selectors'))
  const { allocationMode = '', count = 0 } = request
  if (allocationMode === 'All') {
    if (count !== 0) check.at('count').or(0).invalid("must not be specified when allocationMode is 'All'")
  } else if (allocationMode === 'ExactCount') {
    if (count <= 0) check.at('count').or(0).invalid('must be greater than zero')
  } else check.at('allocationMode').or('').notSupported(['All', 'ExactCount'])
  check.at('tolerations').each(validateDeviceToleration)
}

function validateConstraint(check: Check<V1DeviceConstraint>, names: RequestNames, { isEnabled }: RuleContext): void {
  const constraint = check.value
  validateRequestReferences(check.at('requests'), names)
  const { matchAttribute, distinctAttribute } = constraint
  if (matchAttribute !== undefined) validateFullyQualifiedName(check.at('matchAttribute').present)
  else if (distinctAttribute !== undefined) validateFullyQualifiedName(check.at('distinctAttribute').present)
  else if (isEnabled('DRAConsumableCapacity')) {
    check.required('exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set')
  } else check.at('matchAttribute').required()
}

/** Drops fields whose gate is off, unless the stored spec already uses them. */
export function dropDisabledClaimFields(
  next: V1ResourceClaimSpec,
  prev: V1ResourceClaimSpec | undefined,
  { isEnabled }: RuleContext,
): void {
  const requests = next.devices?.requests ?? []
  if (!isEnabled('DRAPrioritizedList') && !requestsOf(prev).some(({ firstAvailable }) => firstAvailable?.length)) {
    for (const request of requests) delete request.firstAvailable
  }
  if (!isEnabled('DRADeviceTaints') && !wantedBy(prev).some(({ tolerations }) => tolerations?.length)) {
    for (const wanted of wantedBy(next)) delete wanted.tolerations
  }
  if (!isEnabled('DRAConsumableCapacity') && !usesConsumableCapacity(prev)) {
    for (const constraint of next.devices?.constraints ?? []) delete constraint.distinctAttribute
    for (const wanted of wantedBy(next)) delete wanted.capacity
  }
}

export function usesConsumableCapacity(spec: V1ResourceClaimSpec | undefined): boolean {
  const distinguishes = spec?.devices?.constraints?.some(({ distinctAttribute }) => distinctAttribute !== undefined) ?? false
  return distinguishes || wantedBy(spec).some(({ capacity }) => capacity !== undefined)
}

const requestsOf = (spec: V1ResourceClaimSpec | undefined) => spec?.devices?.requests ?? []

function wantedBy(spec: V1ResourceClaimSpec | undefined): (V1ExactDeviceRequest | V1DeviceSubRequest)[] {
  return requestsOf(spec).flatMap(({ exactly, firstAvailable }) => [...(exactly ? [exactly] : []), ...(firstAvailable ?? [])])
}

const adminAccessLabel = 'resource.kubernetes.io/admin-access'
const adminAccessDetail = `admin access to devices requires the \`${adminAccessLabel}: true\` label on the containing namespace`

/** Devices in use may be looked at by administrators only, who can label their namespace. `check` stands at the object. */
export function validateAdminAccess(
  spec: V1ResourceClaimSpec | undefined,
  namespace: string,
  check: Check<{ spec?: unknown }>,
  context: RuleContext,
): void {
  const index = requestsOf(spec).findIndex(({ exactly }) => exactly?.adminAccess)
  if (index < 0 || isAdminNamespace(namespace, context)) return
  // Upstream names the field where it was in an older version.
  check.at('spec').dynamic('devices').at('requests').at(index).at('adminAccess').forbidden(adminAccessDetail)
}

export function validateGrantedAdminAccess(
  results: readonly { adminAccess?: boolean }[] | undefined,
  prev: readonly { adminAccess?: boolean }[] | undefined,
  namespace: string,
  check: Check<V1ResourceClaim>,
  context: RuleContext,
): void {
  if (prev?.some(({ adminAccess }) => adminAccess)) return
  const index = results?.findIndex(({ adminAccess }) => adminAccess) ?? -1
  if (index < 0 || isAdminNamespace(namespace, context)) return
  check.at('status').at('allocation').at('devices').at('results').at(index).at('adminAccess').forbidden(adminAccessDetail)
}

function isAdminNamespace(namespace: string, { labelsOfNamespace }: RuleContext): boolean {
  return labelsOfNamespace?.(namespace)?.[adminAccessLabel] === 'true'
}
