import { Node, Pod } from '#api/core/v1/kinds.gen.ts'
import { podRequests } from '#api/core/v1/resources.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { parseQuantity, zeroQuantity } from '#api/meta/quantity.ts'
import type { StatusError } from '#api/meta/status-error.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'

/** A pod that runs cannot be made larger than its node. */
export function podResizeValidator({ cluster }: AdmissionContext): AdmissionPlugin {
  return {
    name: 'PodResizeValidator',
    operations: ['UPDATE'],
    resources: ['pods/resize'],
    validate(request) {
      const pod = objectOf(Pod, request)
      const nodeName = pod.spec?.nodeName
      if (!nodeName || pod.metadata.generation === request.oldObject?.metadata?.generation) return
      const node = cluster.get(Node, nodeName)
      if (node === undefined) throw forbid(request, `node "${nodeName}" not found`)
      const os = node.metadata?.labels?.['kubernetes.io/os'] ?? 'linux'
      if (os !== 'linux') {
        throw withCause(
          forbid(request, `pod resize is only supported on linux nodes, node "${nodeName}" is "${os}"`),
          'UnsupportedPlatform',
        )
      }
      const short = shortages(pod, node)
      if (short.length > 0) throw withCause(notEnough(request, short), 'NodeCapacity')
    },
  }
}

const notEnough = (request: AdmissionRequest, short: readonly string[]): StatusError =>
  forbid(request, `node didn't have enough allocatable resources: ${short.join('; ')}`)

function shortages({ spec }: V1Pod, { status }: V1Node): string[] {
  const requests = podRequests(spec)
  const short: string[] = []
  for (const [name, scale] of [
    ['cpu', -3],
    ['memory', 0],
  ] as const) {
    const [wanted, there] = [requests[name] ?? zeroQuantity, parseQuantity(status?.allocatable?.[name] ?? '0')]
    if (wanted.compare(there) > 0) {
      short.push(`${name}, requested: ${wanted.scaledValue(scale)}, allocatable: ${there.scaledValue(scale)}`)
    }
  }
  return short
}

function withCause(error: StatusError, reason: string): StatusError {
  error.status.details = { ...error.status.details, causes: [{ reason }] }
  return error
}
