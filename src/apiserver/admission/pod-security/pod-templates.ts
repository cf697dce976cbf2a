import type { V1PodSpec, V1PodTemplateSpec } from '#api/core/v1/types.gen.ts'
import type { V1ObjectMeta } from '#api/meta/v1/types.gen.ts'
import type { KubernetesObject } from '#api/resource.ts'

type PodLike = { metadata: V1ObjectMeta; spec: V1PodSpec }

type Workload = {
  template?: Partial<V1PodTemplateSpec>
  spec?: { template?: Partial<V1PodTemplateSpec>; jobTemplate?: { spec?: { template?: Partial<V1PodTemplateSpec> } } }
}

/** Where the resources that make pods have the template of these. */
const templates: Readonly<Record<string, (object: Workload) => Partial<V1PodTemplateSpec> | undefined>> = {
  podtemplates: ({ template }) => template,
  'cronjobs.batch': ({ spec }) => spec?.jobTemplate?.spec?.template,
  ...Object.fromEntries(
    ['replicationcontrollers', 'replicasets.apps', 'deployments.apps', 'statefulsets.apps', 'daemonsets.apps', 'jobs.batch'].map(
      (resource) => [resource, ({ spec }: Workload) => spec?.template],
    ),
  ),
}

export const resourcesWithTemplate = Object.keys(templates)

export function podTemplateOf(resource: string, object: KubernetesObject | undefined): PodLike | undefined {
  const template = object && templates[resource]?.(object as Workload)
  return template && { metadata: template.metadata ?? {}, spec: template.spec ?? { containers: [] } }
}
