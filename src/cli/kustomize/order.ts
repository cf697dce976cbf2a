import type { ApiObject } from '#cli/call.ts'
import { groupAndVersion } from '#cli/session/resource-types.ts'

/** What others need comes first, what watches over others last. */
const first =
  'Namespace ResourceQuota StorageClass CustomResourceDefinition ServiceAccount PodSecurityPolicy Role ClusterRole RoleBinding ClusterRoleBinding ConfigMap Secret Endpoints Service LimitRange PriorityClass PersistentVolume PersistentVolumeClaim Deployment StatefulSet CronJob PodDisruptionBudget'.split(
    ' ',
  )
const last = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration']

export function legacyOrder(objects: readonly ApiObject[]): ApiObject[] {
  const rank = ({ kind = '' }: ApiObject): number =>
    first.includes(kind) ? first.indexOf(kind) - first.length : last.includes(kind) ? last.indexOf(kind) + 1 : 0
  const text = ({ apiVersion = '', kind = '', metadata }: ApiObject): string => {
    const [group, version] = groupAndVersion(apiVersion)
    return `${group === '' ? '~G' : group}_${version}_${kind}|${metadata?.namespace ?? '~X'}|${metadata?.name ?? '~N'}`
  }
  return objects.toSorted((one, other) => rank(one) - rank(other) || (text(one) < text(other) ? -1 : 1))
}
