/** Which description a kind has: one of its own, or that of any object. */
import type { ApiObject, Call } from '#cli/call.ts'
import type { Info } from '#cli/resources/info.ts'
import { Description } from './description.ts'
import { describeEvents, eventsOf } from './events.ts'
import { writeGeneric } from './generic.ts'

/** Writes all but the events. */
export type Describe = (out: Description, object: ApiObject, call: Call) => Promise<void> | void

type Entry = { load(): Promise<Describe> /** Whether events are shown. */; hasEvents?: boolean }

const core = () => import('./core-kinds.ts')
const apps = () => import('./workload-kinds.ts')
const access = () => import('./access-kinds.ts')
const network = () => import('./network-kinds.ts')
const storage = () => import('./storage-kinds.ts')
const policy = () => import('./policy-kinds.ts')
const small = () => import('./small-kinds.ts')

/** By group and kind. */
const kinds: Readonly<Record<string, Entry>> = {
  '/Pod': { load: async () => (await import('./pod.ts')).describePod },
  '/Node': { load: async () => (await import('./node.ts')).describeNode },
  '/Namespace': { load: async () => (await core()).describeNamespace, hasEvents: false },
  '/Secret': { load: async () => (await core()).describeSecret, hasEvents: false },
  '/ConfigMap': { load: async () => (await core()).describeConfigMap },
  '/ServiceAccount': { load: async () => (await core()).describeServiceAccount },
  '/ResourceQuota': { load: async () => (await policy()).describeQuota, hasEvents: false },
  '/LimitRange': { load: async () => (await policy()).describeLimitRange, hasEvents: false },
  '/ReplicationController': { load: async () => (await apps()).describeReplicationController },
  '/Service': { load: async () => (await network()).describeService },
  '/Endpoints': { load: async () => (await network()).describeEndpoints },
  'discovery.k8s.io/EndpointSlice': { load: async () => (await network()).describeEndpointSlice },
  'networking.k8s.io/Ingress': { load: async () => (await network()).describeIngress },
  'networking.k8s.io/NetworkPolicy': { load: async () => (await network()).describeNetworkPolicy, hasEvents: false },
  '/PersistentVolumeClaim': { load: async () => (await storage()).describeClaim },
  '/PersistentVolume': { load: async () => (await storage()).describeVolume },
  'storage.k8s.io/StorageClass': { load: async () => (await storage()).describeStorageClass },
  'apps/Deployment': { load: async () => (await apps()).describeDeployment },
  'apps/ReplicaSet': { load: async () => (await apps()).describeReplicaSet },
  'apps/StatefulSet': { load: async () => (await apps()).describeStatefulSet },
  'apps/DaemonSet': { load: async () => (await apps()).describeDaemonSet },
  'batch/Job': { load: async () => (await apps()).describeJob },
  'batch/CronJob': { load: async () => (await apps()).describeCronJob },
  'rbac.authorization.k8s.io/Role': { load: async () => (await access()).describeRole, hasEvents: false },
  'rbac.authorization.k8s.io/ClusterRole': { load: async () => (await access()).describeRole, hasEvents: false },
  'rbac.authorization.k8s.io/RoleBinding': { load: async () => (await access()).describeBinding, hasEvents: false },
  'rbac.authorization.k8s.io/ClusterRoleBinding': { load: async () => (await access()).describeBinding, hasEvents: false },
  'autoscaling/HorizontalPodAutoscaler': { load: async () => (await policy()).describeAutoscaler },
  'policy/PodDisruptionBudget': { load: async () => (await policy()).describeBudget },
  'networking.k8s.io/IngressClass': { load: async () => (await small()).describeIngressClass },
  'networking.k8s.io/ServiceCIDR': { load: async () => (await small()).describeServiceRange },
  'networking.k8s.io/IPAddress': { load: async () => (await small()).describeAddress },
  'storage.k8s.io/CSINode': { load: async () => (await small()).describeStorageNode },
  'storage.k8s.io/VolumeAttributesClass': { load: async () => (await small()).describeAttributesClass },
  'certificates.k8s.io/CertificateSigningRequest': { load: async () => (await small()).describeSigningRequest },
  'scheduling.k8s.io/PriorityClass': { load: async () => (await policy()).describePriorityClass },
}

export async function describeInfo(call: Call, { type, object }: Info, showsEvents: boolean): Promise<string> {
  const out = new Description(call.host.clock.now())
  const entry = kinds[`${type.group}/${type.kind}`]
  if (entry === undefined) writeGeneric(out, object)
  else await (await entry.load())(out, object, call)
  if (showsEvents && entry?.hasEvents !== false) describeEvents(out, await eventsOf(call, object))
  return out.text()
}
