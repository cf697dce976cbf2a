import type { V1EndpointSlice } from '#api/discovery/v1/types.gen.ts'
import type { PolicyPod } from '#network/policy/policy-pod.ts'

/** Where a cluster's name servers are told of. */
export const nameServerSlices = { namespace: 'kube-system', labelSelector: 'kubernetes.io/service-name=kube-dns' }

export const isNameServerSlice = ({ metadata }: V1EndpointSlice): boolean =>
  metadata.namespace === nameServerSlices.namespace && metadata.labels?.['kubernetes.io/service-name'] === 'kube-dns'

export const nameServerKey = ({ metadata }: V1EndpointSlice): string => `${metadata.namespace}/${metadata.name} (name server)`

/**
 * A name server that is no pod, as policies see it. People let their pods ask for names by the labels that the pods of name servers
 * have everywhere (`k8s-app: kube-dns` in `kube-system`): it is a peer by these labels, though no policy applies to itself.
 */
export function nameServerPod(slice: V1EndpointSlice): PolicyPod | undefined {
  const ips = (slice.endpoints ?? []).filter(({ targetRef }) => targetRef?.kind !== 'Pod').flatMap(({ addresses }) => addresses)
  if (ips.length === 0) return undefined
  return {
    key: nameServerKey(slice),
    namespace: nameServerSlices.namespace,
    labels: { 'k8s-app': 'kube-dns' },
    ips,
    namedPorts: (slice.ports ?? []).flatMap(({ name, protocol = 'TCP', port }) =>
      name && port !== undefined && port !== null ? [{ name, protocol, port }] : [],
    ),
    nodeName: '',
    isPeerOnly: true,
  }
}
