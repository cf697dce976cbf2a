/** A kubelet gets tokens for the pods on its node, for whom these pods talk to. */

import type { V1TokenRequest } from '#api/authentication/v1/types.gen.ts'
import { PersistentVolume, PersistentVolumeClaim } from '#api/core/v1/kinds.gen.ts'
import type { V1PersistentVolume, V1Pod, V1Volume } from '#api/core/v1/types.gen.ts'
import type { Kind } from '#api/kind.ts'
import { aggregateMessages } from '#api/meta/aggregate.ts'
import { groupResourceText } from '#api/meta/gvk.ts'
import { CSIDriver } from '#api/storage/v1/kinds.gen.ts'
import type { AdmissionContext, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import type { NodeRules } from '#apiserver/admission/node-restriction/node-restriction.ts'
import { existingPod } from '#apiserver/admission/node-restriction/pods.ts'
import type { Authorizer } from '#apiserver/authz/authorizer.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'
import { errorMessage } from '#base/error-message.ts'

export function tokenRules({ cluster, authorizer, isEnabled }: AdmissionContext): NodeRules {
  const limitsAudiences = isEnabled('ServiceAccountNodeAudienceRestriction')
  return {
    serviceaccounts(request, nodeName) {
      if (request.operation !== 'CREATE' || request.subresource !== 'token') return undefined
      const { boundObjectRef: bound, audiences } = (request.object as V1TokenRequest).spec ?? {}
      if (bound?.apiVersion !== 'v1' || bound.kind !== 'Pod' || !bound.name)
        throw forbid(request, 'node requested token not bound to a pod')
      if (!bound.uid) throw forbid(request, 'node requested token with a pod binding without a uid')
      const pod = existingPod(request, bound.name, cluster)
      if (bound.uid !== pod.metadata.uid) {
        const mismatch = `the UID in the bound object reference (${bound.uid}) does not match the UID in record`
        throw forbid(request, `${mismatch}. The object might have been deleted and then recreated`)
      }
      if (pod.spec?.nodeName !== nodeName) throw forbid(request, 'node requested token bound to a pod scheduled on a different node')
      return limitsAudiences ? validateAudiences(request, pod, audiences ?? [], cluster, authorizer) : undefined
    },
  }
}

function validateAudiences(
  request: AdmissionRequest,
  pod: V1Pod,
  audiences: readonly string[],
  cluster: ClusterView,
  authorizer: Authorizer,
): undefined | Promise<void> {
  if (audiences.length > 1) throw forbid(request, 'node may only request 0 or 1 audiences')
  const [audience = ''] = audiences
  const faults: string[] = []
  for (const volume of pod.spec.volumes ?? []) {
    if (volume.projected?.sources?.some(({ serviceAccountToken: token }) => token && (token.audience ?? '') === audience)) return undefined
    try {
      if (driverAudiences(volume, pod, cluster).includes(audience)) return undefined
    } catch (error) {
      faults.push(errorMessage(error))
    }
  }
  if (faults.length > 0) throw forbid(request, `error validating audience "${audience}": ${aggregateMessages(faults)}`)
  return validatePermission(request, audience, authorizer)
}

/** Agents may be given the permission to ask for tokens of audiences that no pod names. */
async function validatePermission(request: AdmissionRequest, audience: string, authorizer: Authorizer): Promise<void> {
  const { user, namespace, name } = request
  const { decision, error } = await authorizer.authorize({
    user,
    verb: 'request-serviceaccounts-token-audience',
    namespace,
    group: '',
    version: 'v1',
    resource: audience,
    subresource: '',
    name,
    path: '',
    isResourceRequest: true,
  })
  if (decision === 'allow') return
  const missing = `audience "${audience}" not found in pod spec volume`
  if (error !== undefined) {
    throw forbid(request, `${missing}, error authorizing ${user.name} to request tokens for this audience: ${error}`)
  }
  throw forbid(request, `${missing}, ${user.name} is not authorized to request tokens for this audience`)
}

/** Drivers that took over from volumes built into Kubernetes. */
const migratedDrivers: Partial<Record<keyof V1Volume & keyof V1PersistentVolume['spec'], string>> = {
  gcePersistentDisk: 'pd.csi.storage.gke.io',
  awsElasticBlockStore: 'ebs.csi.aws.com',
  cinder: 'cinder.csi.openstack.org',
  azureDisk: 'disk.csi.azure.com',
  azureFile: 'file.csi.azure.com',
  vsphereVolume: 'csi.vsphere.vmware.com',
  portworxVolume: 'pxd.portworx.com',
}

/** For whom the volume's driver wants tokens of the pod. */
function driverAudiences(volume: V1Volume, pod: V1Pod, cluster: ClusterView): string[] {
  const claimName = volume.ephemeral ? `${pod.metadata.name}-${volume.name}` : volume.persistentVolumeClaim?.claimName
  const source = claimName === undefined ? volume : volumeOfClaim(pod.metadata.namespace ?? '', claimName, cluster)
  const driverName = source.csi?.driver ?? migrated(source)
  if (driverName === undefined) return []
  const driver = found(CSIDriver, driverName, cluster.get(CSIDriver, driverName))
  return (driver.spec.tokenRequests ?? []).map(({ audience }) => audience)
}

function migrated(source: V1Volume | V1PersistentVolume['spec']): string | undefined {
  const type = (Object.keys(migratedDrivers) as (keyof typeof migratedDrivers)[]).find((each) => source[each] !== undefined)
  return type && migratedDrivers[type]
}

function volumeOfClaim(namespace: string, claimName: string, cluster: ClusterView): V1PersistentVolume['spec'] {
  const claim = found(PersistentVolumeClaim, claimName, cluster.get(PersistentVolumeClaim, namespace, claimName))
  const name = claim.spec?.volumeName ?? ''
  return found(PersistentVolume, name, cluster.get(PersistentVolume, name)).spec
}

function found<T>({ group, plural }: Kind, name: string, object: T | undefined): T {
  if (object === undefined) throw new Error(`${groupResourceText({ group, resource: plural })} "${name}" not found`)
  return object
}
