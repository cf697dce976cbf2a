import { sidecarsOf } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { defined } from '#base/defined.ts'
import { sandboxAnnotations, sandboxLabels } from '#kubelet/runtimes/cri/labels.ts'
import { sandboxResources } from '#kubelet/runtimes/cri/linux-resources.ts'
import { sandboxSecurityContext } from '#kubelet/runtimes/cri/security-context.ts'
import type { SandboxPlan } from '#kubelet/runtimes/plans.ts'
import { type PortMapping, protocols, type SandboxConfig, type UserNamespace } from '#wire/cri/cri-types.ts'

export type SandboxOptions = { attempt: number; cgroupParent: string; userNamespace?: UserNamespace }

/** What a runtime is told of a pod's sandbox. */
export function sandboxConfig(pod: V1Pod, plan: SandboxPlan, runtimeHelper: SandboxOptions): SandboxConfig {
  const { attempt, cgroupParent, userNamespace } = runtimeHelper
  const { name = '', namespace = '', uid = '' } = pod.metadata
  const { sysctls = [] } = pod.spec.securityContext ?? {}
  return {
    metadata: { name, namespace, uid, attempt },
    hostname: pod.spec.hostNetwork ? '' : plan.hostname,
    logDirectory: plan.logDirectory,
    ...defined({ dnsConfig: plan.dns }),
    portMappings: portMappings(pod),
    labels: sandboxLabels(pod),
    annotations: sandboxAnnotations(pod, plan),
    linux: {
      cgroupParent,
      securityContext: sandboxSecurityContext(pod, userNamespace),
      sysctls: Object.fromEntries(sysctls.map((each) => [each.name, each.value])),
      ...sandboxResources(pod.spec),
    },
  }
}

/** Init containers that end are not reached by others; sidecars are. */
function portMappings({ spec }: V1Pod): PortMapping[] {
  const seen = new Set<string>()
  return [...sidecarsOf(spec), ...spec.containers]
    .flatMap(({ ports = [] }) => ports)
    .flatMap(({ containerPort, hostPort = 0, hostIP = '', protocol = 'TCP' }) => {
      const key = `${protocol}:${hostIP}:${hostPort}:${containerPort}`
      if (seen.has(key)) return []
      seen.add(key)
      return { protocol: protocols[protocol as keyof typeof protocols] ?? protocols.TCP, containerPort, hostPort, hostIp: hostIP }
    })
}
