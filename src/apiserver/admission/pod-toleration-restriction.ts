import { Namespace, Pod } from '#api/core/v1/kinds.gen.ts'
import { podQosClass } from '#api/core/v1/resources.ts'
import type { V1Pod, V1Toleration } from '#api/core/v1/types.gen.ts'
import { notFound, unknownFailure } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import { isFields } from '#api/structural/shape.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { covers, mergeTolerations } from '#apiserver/admission/merge-tolerations.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'
import { errorMessage } from '#base/error-message.ts'

const defaultsAnnotation = 'scheduler.alpha.kubernetes.io/defaultTolerations'
const allowedAnnotation = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist'

const memoryPressure: V1Toleration = { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' }

type Configuration = { default?: V1Toleration[]; whitelist?: V1Toleration[] }

/** Pods get the tolerations of their namespace, and no others than it allows. */
export function podTolerationRestriction({ cluster, configuration }: AdmissionContext): AdmissionPlugin {
  const { default: clusterDefaults = [], whitelist: clusterAllowed = [] } = (configuration ?? {}) as Configuration

  const withNamespace = (request: AdmissionRequest, goOn: (namespace: KubernetesObject) => void): void | Promise<void> => {
    const known = cluster.get(Namespace, request.namespace)
    if (known !== undefined) return goOn(known)
    return cluster.getFresh(Namespace, request.namespace).then((found) => {
      if (found === undefined) throw notFound({ group: '', resource: 'namespaces' }, request.namespace)
      goOn(found)
    })
  }
  const validate = ({ spec }: V1Pod, namespace: KubernetesObject): void => {
    const tolerations = spec?.tolerations ?? []
    if (tolerations.length === 0) return
    const own = tolerationsIn(namespace, allowedAnnotation)
    const allowed = own ?? clusterAllowed
    if (allowed.length === 0 || tolerations.every((each) => allowed.some((wide) => covers(wide, each)))) return
    const scope = own === undefined ? 'cluster' : 'namespace'
    throw unknownFailure(`pod tolerations (possibly merged with namespace default tolerations) conflict with its ${scope} whitelist`)
  }
  return {
    name: 'PodTolerationRestriction',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods'],
    mutate: (request) =>
      withNamespace(request, (namespace) => {
        const pod = objectOf(Pod, request)
        pod.spec ??= { containers: [] }
        const added = [
          ...(request.operation === 'CREATE' ? (tolerationsIn(namespace, defaultsAnnotation) ?? clusterDefaults) : []),
          ...(podQosClass(pod) === 'BestEffort' ? [] : [memoryPressure]),
        ]
        if (added.length > 0) pod.spec.tolerations = mergeTolerations(pod.spec.tolerations ?? [], added)
        validate(pod, namespace)
      }),
    validate: (request) => withNamespace(request, (namespace) => validate(objectOf(Pod, request), namespace)),
  }
}

/** Undefined if the namespace does not say; none if it says nothing. */
function tolerationsIn({ metadata }: KubernetesObject, annotation: string): V1Toleration[] | undefined {
  const text = metadata?.annotations?.[annotation]
  if (text === undefined || text === '') return text === undefined ? undefined : []
  try {
    const tolerations: unknown = JSON.parse(text)
    if (!Array.isArray(tolerations) || !tolerations.every(isToleration)) throw new Error(`${text} is not a list of tolerations`)
    return tolerations
  } catch (error) {
    throw unknownFailure(`annotation ${annotation}: ${errorMessage(error)}`)
  }
}

/** Annotations are written by anybody who may label a namespace. */
function isToleration(value: unknown): value is V1Toleration {
  if (!isFields(value)) return false
  const { tolerationSeconds: seconds, ...texts } = value
  return (seconds == null || typeof seconds === 'number') && Object.values(texts).every((text) => typeof text === 'string')
}
