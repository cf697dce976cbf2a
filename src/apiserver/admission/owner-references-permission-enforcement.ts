import { sameObjectMeta } from '#api/meta/equality.ts'
import { parseApiVersion } from '#api/meta/gvk.ts'
import type { V1OwnerReference } from '#api/meta/v1/types.gen.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import type { Attributes } from '#apiserver/authz/authorizer.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

/** Who gives an object another owner decides when it goes: that takes the permission to delete it, and to hold up the owner. */
export function ownerReferencesPermissionEnforcement({ authorizer, cluster }: AdmissionContext): AdmissionPlugin {
  const validate = async (request: AdmissionRequest): Promise<void> => {
    if (request.operation !== 'CREATE') {
      const { decision, reason, error = '<nil>' } = await authorizer.authorize(deletion(request))
      if (decision !== 'allow') throw forbid(request, `cannot set an ownerRef on a resource you can't delete: ${reason}, ${error}`)
    }
    const blocking = newlyBlocking(request)
    if (blocking.length === 0) return
    // Whoever may hold up anything need not be asked about each owner.
    if ((await authorizer.authorize(finalizing(request, '*', '*', '*', '*', ''))).decision === 'allow') return
    for (const reference of blocking) {
      for (const attributes of finalizingOwner(request, reference, cluster)) {
        const { decision, reason, error = '<nil>' } = await authorizer.authorize(attributes)
        if (decision === 'allow') continue
        const why = `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${reason}, ${error}`
        throw forbid(request, why)
      }
    }
  }
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    operations: ['CREATE', 'UPDATE'],
    validate(request) {
      // A pod's status cannot touch its owners, and old kubelets send them damaged.
      if (request.definition.plural === 'pods' && request.definition.group === '' && request.subresource === 'status') return undefined
      return sameObjectMeta.at('ownerReferences')(owners(request.object), owners(request.oldObject)) ? undefined : validate(request)
    },
  }
}

const owners = (object: AdmissionRequest['object']): V1OwnerReference[] => object?.metadata?.ownerReferences ?? []

/** References that hold up their owner, and did not before. */
function newlyBlocking({ object, oldObject }: AdmissionRequest): V1OwnerReference[] {
  const before = new Map(owners(oldObject).map((reference) => [reference.uid, reference]))
  return owners(object).filter(({ uid, blockOwnerDeletion }) => blockOwnerDeletion && !before.get(uid)?.blockOwnerDeletion)
}

function deletion({ user, namespace, resource, subresource, name }: AdmissionRequest): Attributes {
  const { group, version } = resource
  return {
    user,
    verb: 'delete',
    namespace,
    group,
    version,
    resource: resource.resource,
    subresource,
    name,
    path: '',
    isResourceRequest: true,
  }
}

function finalizing(
  { user }: AdmissionRequest,
  group: string,
  version: string,
  resource: string,
  name: string,
  namespace: string,
): Attributes {
  return { user, verb: 'update', namespace, group, version, resource, subresource: 'finalizers', name, path: '', isResourceRequest: true }
}

function finalizingOwner(request: AdmissionRequest, { apiVersion, kind, name }: V1OwnerReference, cluster: ClusterView): Attributes[] {
  const { group, version } = parseApiVersion(apiVersion) ?? { group: '', version: apiVersion }
  const resources = cluster.dynamic.resourcesOfKind(group, version, kind)
  if (resources.length === 0) {
    const why = `no matches for kind "${kind}" in version "${apiVersion}"`
    const sentence = 'cannot set blockOwnerDeletion in this case because cannot find RESTMapping for'
    throw forbid(request, `${sentence} APIVersion ${apiVersion} Kind ${kind}: ${why}`)
  }
  return resources.map(({ resource, isNamespaced }) =>
    finalizing(request, group, version, resource, name, isNamespaced ? request.namespace : ''),
  )
}
