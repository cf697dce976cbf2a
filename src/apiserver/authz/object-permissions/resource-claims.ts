/** The status of a claim is written by many: the scheduler binds it, drivers report on their devices; each needs its own permission. */
import type { Check } from '#api/meta/check.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import type { V1AllocatedDeviceStatus, V1AllocationResult, V1ResourceClaim, V1ResourceClaimStatus } from '#api/resource/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { UserInfo } from '#apiserver/authn/authenticator.ts'
import { splitServiceAccountUsername } from '#apiserver/authn/service-account/username.ts'
import type { Attributes, Authorizer } from '#apiserver/authz/authorizer.ts'
import { forbidden } from '#apiserver/authz/forbidden.ts'
import type { ObjectValidator } from '#apiserver/authz/object-permissions/object-permissions.ts'
import type { WriteContext } from '#apiserver/registry/write-context.ts'

export const validateClaimStatus: ObjectValidator<V1ResourceClaim> = async (next, prev, context, check, { authorizer, isEnabled }) => {
  if (context.subresource !== 'status' || prev === undefined || !isEnabled('DRAResourceClaimGranularStatusAuthorization')) return
  const [after, before] = [next.status ?? {}, prev.status ?? {}]
  await validateBinding(after, before, context, check, authorizer)
  // The reports on devices go with the allocation.
  if (isEnabled('DRAResourceClaimDeviceStatus') && after.allocation) await validateDevices(after, before, context, check, authorizer)
}

async function validateBinding(
  after: V1ResourceClaimStatus,
  before: V1ResourceClaimStatus,
  context: WriteContext,
  check: Check<KubernetesObject>,
  authorizer: Authorizer,
): Promise<void> {
  const isSame =
    equalJson(after.allocation ?? null, before.allocation ?? null) && equalJson(after.reservedFor ?? [], before.reservedFor ?? [])
  if (isSame) return
  const verb = verbOf(context)
  const refusal = await refusalOf(authorizer, { ...attributesOf(context), verb, subresource: 'binding', namespace: '', name: '' })
  if (refusal === undefined) return
  const needed = `resource="resourceclaims/binding", verb="${verb}" permission`
  check.dynamic('status').at('allocation').forbidden(`changing status.allocation or status.reservedFor requires ${needed}: ${refusal}`)
}

async function validateDevices(
  after: V1ResourceClaimStatus,
  before: V1ResourceClaimStatus,
  context: WriteContext,
  check: Check<KubernetesObject>,
  authorizer: Authorizer,
): Promise<void> {
  const isOnNode = speaksForNode(context.user, nodeOf(after.allocation))
  const verbs = [...(isOnNode ? ['associated-node:'] : []), 'arbitrary-node:'].map((prefix) => prefix + verbOf(context))
  for (const name of changedDrivers(after, before)) {
    let refusal: string | undefined
    for (const verb of verbs) {
      const one = await refusalOf(authorizer, { ...attributesOf(context), verb, subresource: 'driver', name })
      refusal = one === undefined ? undefined : (refusal ?? one)
      if (refusal === undefined) break
    }
    if (refusal === undefined) continue
    const needed = `resource="resourceclaims/driver", verb="[${verbs.join(' ')}]" permission`
    check.dynamic('status').at('devices').forbidden(`changing status.devices requires ${needed}: ${refusal}`)
  }
}

function changedDrivers({ devices: after = [] }: V1ResourceClaimStatus, { devices: before = [] }: V1ResourceClaimStatus): string[] {
  const keyOf = ({ driver, pool, device, shareID = '' }: V1AllocatedDeviceStatus) => JSON.stringify([driver, pool, device, shareID])
  const left = new Map(before.map((device) => [keyOf(device), device]))
  const drivers = new Set<string>()
  for (const device of after) {
    const known = left.get(keyOf(device))
    left.delete(keyOf(device))
    if (known === undefined || !equalJson(known, device)) drivers.add(device.driver)
  }
  for (const { driver } of left.values()) drivers.add(driver)
  return [...drivers].sort()
}

/** The node that an allocation is for, where it is for one alone. */
function nodeOf(allocation: V1AllocationResult | null | undefined): string {
  const [term, ...others] = allocation?.nodeSelector?.nodeSelectorTerms ?? []
  if (term === undefined || others.length > 0 || (term.matchExpressions ?? []).length > 0) return ''
  const [field, ...more] = term.matchFields ?? []
  if (field?.key !== 'metadata.name' || field.operator !== 'In' || more.length > 0) return ''
  return field.values?.length === 1 ? (field.values[0] ?? '') : ''
}

function speaksForNode({ name, extra }: UserInfo, node: string): boolean {
  const nodes = extra['authentication.kubernetes.io/node-name'] ?? []
  return node !== '' && splitServiceAccountUsername(name) !== undefined && nodes.length === 1 && nodes[0] === node
}

function verbOf({ verb }: WriteContext): 'patch' | 'update' {
  return verb === 'patch' ? 'patch' : 'update'
}

function attributesOf({ user, namespace, resource }: WriteContext): Omit<Attributes, 'verb' | 'subresource' | 'name'> {
  return { user, namespace, ...resource, path: '', isResourceRequest: true }
}

async function refusalOf(authorizer: Authorizer, attributes: Attributes): Promise<string | undefined> {
  const { decision, reason, error } = await authorizer.authorize(attributes)
  if (decision === 'allow') return undefined
  return forbidden(attributes, [error, reason].filter(Boolean).join(': ')).message
}
