import type { PocVerticalPodAutoscaler, VerticalPodAutoscaler } from '#api/autoscaling/vertical/definitions.ts'
import { fitLimitRanges } from '#api/autoscaling/vertical/fit-limit-ranges.ts'
import { recommendedResources } from '#api/autoscaling/vertical/recommended-resources.ts'
import { pocAutoscalerOf, type VerticalAutoscaler, verticalAutoscalerOf } from '#api/autoscaling/vertical/vertical-autoscaler.ts'
import { LimitRange, Pod } from '#api/core/v1/kinds.gen.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { parseApiVersion } from '#api/meta/gvk.ts'
import { controllerOf } from '#api/meta/owner-references.ts'
import { labelSelectorFrom } from '#api/meta/selector.ts'
import type { KubernetesObject } from '#api/resource.ts'
import type { AdmissionContext, AdmissionPlugin } from '#apiserver/admission/admission.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'
import type { ClusterView } from '#apiserver/cluster-view/cluster-view.ts'

const plural = 'verticalpodautoscalers'
/** A pod's controller has one itself, and so on: not for ever. */
const mostOwners = 10

/** Gives new pods the resources that their vertical autoscaler recommends. */
export function verticalPodAutoscaler({ cluster, logger }: AdmissionContext): AdmissionPlugin {
  return {
    name: 'VerticalPodAutoscaler',
    operations: ['CREATE'],
    resources: ['pods'],
    mutate(request) {
      const pod = objectOf(Pod, request)
      const all = [
        ...cluster.dynamic
          .list('autoscaling.k8s.io', plural, request.namespace)
          .map((each) => verticalAutoscalerOf(each as VerticalPodAutoscaler)),
        ...cluster.dynamic
          .list('poc.autoscaling.k8s.io', plural, request.namespace)
          .map((each) => pocAutoscalerOf(each as PocVerticalPodAutoscaler)),
      ].filter(({ mode, recommendations }) => mode !== 'Off' && recommendations.length > 0)
      if (all.length === 0) return
      const owners = ownersOf(pod, request.namespace, cluster)
      const found = all.find((each) => isFor(each, pod, owners))
      if (found === undefined) return
      try {
        apply(pod, fitLimitRanges(found, pod.spec.containers, cluster.list(LimitRange, request.namespace)))
      } catch (error) {
        // A pod that is made as it was asked for is better than none.
        logger.warn('failed to apply recommendation of VerticalPodAutoscaler', { pod: pod.metadata.name, error: String(error) })
      }
    },
  }
}

type Owner = { readonly group: string; readonly kind: string; readonly name: string }

function ownersOf(pod: V1Pod, namespace: string, { dynamic }: ClusterView): Owner[] {
  const owners: Owner[] = []
  let current: KubernetesObject | undefined = pod
  while (current !== undefined && owners.length < mostOwners) {
    const reference = controllerOf(current)
    if (reference === undefined) break
    const { group, version } = parseApiVersion(reference.apiVersion) ?? { group: '', version: '' }
    owners.push({ group, kind: reference.kind, name: reference.name })
    const [resource] = dynamic.resourcesOfKind(group, version, reference.kind)
    current = resource && dynamic.get(group, resource.resource, namespace, reference.name)
  }
  return owners
}

function isFor({ targetRef, selector }: VerticalAutoscaler, pod: V1Pod, owners: readonly Owner[]): boolean {
  if (targetRef === undefined) return labelSelectorFrom(selector).matches(pod.metadata.labels)
  const group = parseApiVersion(targetRef.apiVersion || 'v1')?.group
  return owners.some((owner) => owner.group === group && owner.kind === targetRef.kind && owner.name === targetRef.name)
}

function apply(pod: V1Pod, autoscaler: VerticalAutoscaler): void {
  const updates: string[] = []
  for (const [index, container] of pod.spec.containers.entries()) {
    const resources = recommendedResources(autoscaler, container)
    if (resources === undefined) continue
    const limits = Object.keys(autoscaler.policyOf(container.name).controlsLimits ? (container.resources?.limits ?? {}) : {})
    const updatedResources = [
      ...Object.keys(resources.requests ?? {}).map((each) => `${each} request`),
      ...limits.map((each) => `${each} limit`),
    ]
    updates.push(`container ${index}: ${updatedResources.join(', ')}`)
    container.resources = resources
  }
  if (updates.length === 0) return
  pod.metadata.annotations = {
    ...pod.metadata.annotations,
    vpaUpdates: `Pod resources updated by ${autoscaler.name}: ${updates.join('; ')}`,
    vpaObservedContainers: pod.spec.containers.map(({ name }) => name).join(', '),
  }
}
