/** Between the words of the protocol and those of the autoscaler. */
import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { GroupOptions, Instance } from '#cluster-autoscaler/provider/node-group.ts'
import type { GrpcGroupOptions, GrpcInstance, GrpcNode, GrpcTime } from '#wire/cluster-autoscaler/external-grpc-messages.ts'

const states = [undefined, 'running', 'creating', 'deleting'] as const
const outOfResources = 1

export const toGrpcNode = ({ metadata, spec }: V1Node): GrpcNode => ({
  providerID: spec?.providerID ?? '',
  name: metadata.name ?? '',
  labels: metadata.labels ?? {},
  annotations: metadata.annotations ?? {},
})

export function fromGrpcState({ id, status }: GrpcInstance): Instance {
  const state = states[status?.instanceState ?? 0]
  const { errorCode = '', errorMessage = '', instanceErrorClass = 0 } = status?.errorInfo ?? {}
  const error =
    errorCode === '' ? undefined : { code: errorCode, message: errorMessage, isOutOfResources: instanceErrorClass === outOfResources }
  return { id, ...(state ? { state } : {}), ...(error ? { error } : {}) }
}

export const grpcTime = (ms: number): GrpcTime => ({ seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 })
const msOf = ({ seconds, nanos }: GrpcTime): number => seconds * 1000 + nanos / 1_000_000

export const toGrpcOptions = (options: GroupOptions): GrpcGroupOptions => ({
  scaleDownUtilizationThreshold: options.scaleDownUtilizationThreshold,
  scaleDownGpuUtilizationThreshold: options.scaleDownGpuUtilizationThreshold,
  zeroOrMaxNodeScaling: options.zeroOrMaxNodeScaling,
  ignoreDaemonSetsUtilization: options.ignoreDaemonSetsUtilization,
  scaleDownUnneededDuration: grpcTime(options.scaleDownUnneededMs),
  scaleDownUnreadyDuration: grpcTime(options.scaleDownUnreadyMs),
  maxNodeProvisionDuration: grpcTime(options.maxNodeProvisionMs),
})

export const fromGrpcOptions = (options: GrpcGroupOptions, defaults: GroupOptions): GroupOptions => ({
  scaleDownUtilizationThreshold: options.scaleDownUtilizationThreshold,
  scaleDownGpuUtilizationThreshold: options.scaleDownGpuUtilizationThreshold,
  zeroOrMaxNodeScaling: options.zeroOrMaxNodeScaling,
  ignoreDaemonSetsUtilization: options.ignoreDaemonSetsUtilization,
  scaleDownUnneededMs: options.scaleDownUnneededDuration ? msOf(options.scaleDownUnneededDuration) : defaults.scaleDownUnneededMs,
  scaleDownUnreadyMs: options.scaleDownUnreadyDuration ? msOf(options.scaleDownUnreadyDuration) : defaults.scaleDownUnreadyMs,
  maxNodeProvisionMs: options.maxNodeProvisionDuration ? msOf(options.maxNodeProvisionDuration) : defaults.maxNodeProvisionMs,
})
