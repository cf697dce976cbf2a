import { Namespace, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { forbidden, internalError, unknownFailure } from '#api/meta/status-error.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

const annotation = 'scheduler.alpha.kubernetes.io/node-selector'

type Labels = Record<string, string>

/** By namespace the labels that pods there may select nodes by; `clusterDefaultNodeSelector` is for namespaces without annotation. */
type Configuration = { podNodeSelectorPluginConfig?: Record<string, string> }

/** Pods of a namespace go only to the nodes that its annotation selects. */
export function podNodeSelector({ cluster, configuration }: AdmissionContext): AdmissionPlugin {
  const { podNodeSelectorPluginConfig: selectors = {} } = (configuration ?? {}) as Configuration

  const selectorOf = (namespace: KubernetesObject): Labels =>
    parseLabels(namespace.metadata?.annotations?.[annotation] ?? selectors['clusterDefaultNodeSelector'] ?? '')

  const withNamespace = (request: AdmissionRequest, goOn: (selector: Labels) => void): void | Promise<void> => {
    const known = cluster.get(Namespace, request.namespace)
    if (known !== undefined) return goOn(selectorOf(known))
    return cluster.getFresh(Namespace, request.namespace).then((found) => {
      if (found === undefined) throw internalError(`namespace ${request.namespace} does not exist`)
      goOn(selectorOf(found))
    })
  }
  const validate = (request: AdmissionRequest, pod: V1Pod, selector: Labels): void => {
    const chosen = pod.spec.nodeSelector ?? {}
    const refuse = (why: string) => forbidden(request.resource, pod.metadata.name ?? '', why)
    if (Object.keys(selector).some((key) => chosen[key] !== undefined && chosen[key] !== selector[key])) {
      throw refuse('pod node label selector conflicts with its namespace node label selector')
    }
    const allowed = parseLabels(selectors[request.namespace] ?? '')
    const isLimited = Object.keys(allowed).length > 0
    if (isLimited && Object.keys(chosen).some((key) => allowed[key] !== chosen[key])) {
      throw refuse('pod node label selector labels conflict with its namespace whitelist')
    }
  }
  return {
    name: 'PodNodeSelector',
    operations: ['CREATE'],
    resources: ['pods'],
    mutate: (request) =>
      withNamespace(request, (selector) => {
        const pod = objectOf(Pod, request)
        pod.spec ??= { containers: [] }
        const merged = { ...selector, ...pod.spec.nodeSelector }
        if (Object.keys(merged).length > 0) pod.spec.nodeSelector = merged
        validate(request, pod, selector)
      }),
    validate: (request) => withNamespace(request, (selector) => validate(request, objectOf(Pod, request), selector)),
  }
}

/** `a=b,c=d`. */
function parseLabels(text: string): Labels {
  const labels: Labels = {}
  if (text === '') return labels
  for (const part of text.split(',')) {
    const [key = '', value, ...rest] = part.split('=')
    if (value === undefined || rest.length > 0) throw unknownFailure(`invalid selector: [${part.split('=').join(' ')}]`)
    labels[key.trim()] = value.trim()
  }
  return labels
}
