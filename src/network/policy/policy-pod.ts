import { isTerminalPhase } from '#api/core/v1/pod/pod-state.ts'
import { lastingContainers } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { canonicalIp } from '#api/meta/ip.ts'
import { accountLabel, accountLabels } from '#network/calico/account-labels.ts'

export type NamedPort = { name: string; protocol: string; port: number }

/** What policies see of a pod. */
export type PolicyPod = {
  /** `namespace/name`. */
  key: string
  namespace: string
  labels: Readonly<Record<string, string>>
  /** Empty until it has any. */
  ips: readonly string[]
  namedPorts: readonly NamedPort[]
  nodeName: string
  /** Policies may name it, but none applies to it. */
  isPeerOnly?: boolean
}

/** Undefined for pods that policies say nothing about: those in the node's own network, and those that have ended. */
export function policyPodOf(
  { metadata, spec, status }: V1Pod,
  labelsOfAccount: Readonly<Record<string, string>> = {},
): PolicyPod | undefined {
  if (spec.hostNetwork || isTerminalPhase(status?.phase)) return undefined
  const told = (status?.podIPs ?? []).flatMap(({ ip }) => ip || [])
  const given = told.length > 0 ? told : status?.podIP ? [status.podIP] : []
  return {
    key: `${metadata.namespace}/${metadata.name}`,
    namespace: metadata.namespace ?? '',
    // Calico's names for where a pod is and who it runs as.
    labels: {
      ...metadata.labels,
      'projectcalico.org/namespace': metadata.namespace ?? '',
      [accountLabel]: spec.serviceAccountName ?? '',
      ...accountLabels(labelsOfAccount),
    },
    ips: given.map(canonicalIp).filter((ip) => ip !== undefined),
    namedPorts: lastingContainers(spec).flatMap(({ ports = [] }) =>
      ports.flatMap(({ name, protocol = 'TCP', containerPort: port }) => (name ? [{ name, protocol, port }] : [])),
    ),
    nodeName: spec.nodeName ?? '',
  }
}
