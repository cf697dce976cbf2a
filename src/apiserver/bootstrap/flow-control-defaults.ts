import type { KubernetesObject } from '#api/resource.ts'
import type { BootstrapEntry } from '#apiserver/bootstrap/bootstrap-objects.ts'
import defaults from './flow-control-defaults.gen.json' with { type: 'json' }

const group = 'flowcontrol.apiserver.k8s.io'

/** The flow schemas and priority levels every cluster begins with. */
export function defaultFlowControl(): BootstrapEntry[] {
  return defaults.map(({ kind, name, spec }) => ({
    group,
    resource: kind === 'FlowSchema' ? 'flowschemas' : 'prioritylevelconfigurations',
    object: {
      apiVersion: `${group}/v1`,
      kind,
      metadata: { name, annotations: { 'apf.kubernetes.io/autoupdate-spec': 'true' } },
      spec,
    } as KubernetesObject,
  }))
}
