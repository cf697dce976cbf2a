/** Whoever makes a policy read parameters must be able to read them himself: its answers would tell him what they hold. */
import type {
  V1MutatingAdmissionPolicy,
  V1MutatingAdmissionPolicyBinding,
  V1ParamKind,
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
} from '#api/admissionregistration/v1/types.gen.ts'
import type { ClusterKind } from '#api/kind.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { groups, type UserInfo } from '#apiserver/authn/authenticator.ts'
import type { Attributes } from '#apiserver/authz/authorizer.ts'
import type { ObjectValidator } from '#apiserver/authz/object-permissions/object-permissions.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

type AnyPolicy = V1ValidatingAdmissionPolicy | V1MutatingAdmissionPolicy
type AnyBinding = V1ValidatingAdmissionPolicyBinding | V1MutatingAdmissionPolicyBinding

export const validateParamKind: ObjectValidator<AnyPolicy> = async (next, prev, { user, subresource }, check, { authorizer, cluster }) => {
  const kind = paramKindOf(next)
  if (kind === undefined || subresource !== '' || mayDoAnything(user)) return
  const before = paramKindOf(prev)
  if (before !== undefined && equalJson(before, kind)) return
  const result = await authorizer.authorize({ ...attributesOf(user, 'get', resourceOf(kind, cluster)), name: '*', namespace: '*' })
  if (result.decision === 'allow') return
  const { kind: name = '', apiVersion = '' } = kind
  check
    .dynamic('spec.paramKind')
    .forbidden(
      result.error ??
        `user ${goText(user)} must have "get" permission on all objects of the referenced paramKind (kind=${name}, apiVersion=${apiVersion})`,
    )
}

export const validateParamRef =
  (policies: ClusterKind<AnyPolicy>): ObjectValidator<AnyBinding> =>
  async (next, prev, { user }, check, { authorizer, cluster }) => {
    const { paramRef, policyName = '' } = next.spec ?? {}
    if (!paramRef || mayDoAnything(user)) return
    const before = prev?.spec
    if (before?.paramRef && before.policyName === policyName && equalJson(before.paramRef, paramRef)) return
    const policy = cluster.get(policies, policyName)
    const resource = resourceOf(paramKindOf(policy), cluster)
    const { name = '', namespace = '' } = paramRef
    const verb = name === '' ? 'list' : 'get'
    const { decision, error } = await authorizer.authorize({ ...attributesOf(user, verb, resource), name, namespace })
    if (decision === 'allow') return
    const everything = `user ${goText(user)} does not have "${verb}" permission for all groups, versions and resources`
    const kind = paramKindOf(policy)
    const why =
      policy === undefined
        ? `unable to get policy ${policyName} to determine minimum required permissions and ${everything}`
        : kind !== undefined && resource.resource === '*'
          ? `unable to resolve paramKind &{${kind.apiVersion} ${kind.kind}} to determine minimum required permissions and ${everything}`
          : `user ${goText(user)} does not have "${verb}" permission on the object referenced by paramRef`
    check.dynamic('spec.paramRef').forbidden(error === undefined ? why : `failed to authorize request: ${error}`)
  }

function paramKindOf(policy: AnyPolicy | undefined): V1ParamKind | undefined {
  return policy?.spec?.paramKind ?? undefined
}

function mayDoAnything(user: UserInfo): boolean {
  return user.groups.includes(groups.masters)
}

type Resource = { group: string; version: string; resource: string }

/** What is not known of the kind must be permitted whatever it is. */
function resourceOf(kind: V1ParamKind | undefined, cluster: ClusterView): Resource {
  const parts = kind?.apiVersion?.split('/') ?? []
  if (kind === undefined || parts.length === 0 || parts.length > 2) return { group: '*', version: '*', resource: '*' }
  const [apiGroup = '', version = ''] = parts.length === 2 ? parts : ['', ...parts]
  const [found] = cluster.dynamic.resourcesOfKind(apiGroup, version, kind.kind ?? '')
  return { group: apiGroup, version, resource: found?.resource ?? '*' }
}

function attributesOf(user: UserInfo, verb: string, resource: Resource): Omit<Attributes, 'name' | 'namespace'> {
  return { user, verb, ...resource, subresource: '', path: '', isResourceRequest: true }
}

/** As Go prints a user. */
function goText({ name, uid = '', groups: list, extra }: UserInfo): string {
  const pairs = Object.entries(extra)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, values]) => `${key}:[${values.join(' ')}]`)
  return `&{${name} ${uid} [${list.join(' ')}] map[${pairs.join(' ')}]}`
}
