import { decodeProtobufMessage, encodeProtobufMessage } from '#api/codec/protobuf.ts'
import type { V1Node, V1Pod } from '#api/core/v1/types.gen.ts'
import { type GrpcChannel, GrpcError, grpcCodes } from '#base/grpc.ts'
import {
  fromGrpcOptions,
  fromGrpcState,
  grpcTime,
  toGrpcNode,
  toGrpcOptions,
} from '#cluster-autoscaler/provider/external-grpc/translate.ts'
import type { Instance, NodeGroup, NodeGroupProvider, Pricing } from '#cluster-autoscaler/provider/node-group.ts'
import {
  type ExternalGrpcMethod,
  type ExternalGrpcRequest,
  type ExternalGrpcResponse,
  externalGrpcMethods,
  type GrpcGroup,
} from '#wire/cluster-autoscaler/external-grpc-messages.ts'

/** As upstream's client has it. */
const defaultTimeoutMs = 5000

type Call = <Name extends ExternalGrpcMethod>(name: Name, request: ExternalGrpcRequest<Name>) => Promise<ExternalGrpcResponse<Name>>

/** Node groups that another program looks after, which speaks upstream's protocol (`--cloud-provider=externalgrpc`). */
export class ExternalGrpcProvider implements NodeGroupProvider {
  readonly name = 'externalgrpc'
  readonly #channel: GrpcChannel
  readonly #call: Call
  readonly pricing: Pricing
  gpuLabel = ''
  #groups: readonly ExternalGroup[] = []
  /** By provider ID, or name; asked anew after each refresh. */
  readonly #groupOfNode = new Map<string, string>()

  constructor(channel: GrpcChannel, timeoutMs = defaultTimeoutMs) {
    this.#channel = channel
    this.#call = async (name, request) => {
      const { path, encodeRequest, decodeResponse } = externalGrpcMethods[name]
      const answer = await channel.unary(path, encodeRequest(request as never), { timeoutMs })
      return decodeResponse(answer) as never
    }
    this.pricing = pricingBy(this.#call)
  }

  nodeGroups(): readonly NodeGroup[] {
    return this.#groups
  }

  async groupOf(node: V1Node): Promise<NodeGroup | undefined> {
    const key = node.spec?.providerID || (node.metadata.name ?? '')
    let id = this.#groupOfNode.get(key)
    if (id === undefined) {
      const { nodeGroup } = await this.#call('nodeGroupForNode', { node: toGrpcNode(node) })
      id = nodeGroup?.id ?? ''
      this.#groupOfNode.set(key, id)
    }
    return this.#groups.find((group) => group.id === id)
  }

  async refresh(): Promise<void> {
    await this.#call('refresh', {})
    this.#groupOfNode.clear()
    const { nodeGroups } = await this.#call('nodeGroups', {})
    this.#groups = nodeGroups.map((group) => new ExternalGroup(group, this.#call))
    this.gpuLabel ||= (await this.#call('gpuLabel', {}).catch(ifImplemented))?.label ?? ''
  }

  async close(): Promise<void> {
    await this.#call('cleanup', {}).catch(() => undefined)
    this.#channel[Symbol.dispose]()
  }
}

class ExternalGroup implements NodeGroup {
  readonly id: string
  readonly minSize: number
  readonly maxSize: number
  readonly #call: Call

  constructor({ id, minSize, maxSize }: GrpcGroup, call: Call) {
    this.id = id
    this.minSize = minSize
    this.maxSize = maxSize
    this.#call = call
  }

  async targetSize(): Promise<number> {
    return (await this.#call('targetSize', { id: this.id })).targetSize
  }

  async increaseSize(by: number): Promise<void> {
    await this.#call('increaseSize', { id: this.id, delta: by })
  }

  async deleteNodes(nodes: readonly V1Node[]): Promise<void> {
    await this.#call('deleteNodes', { id: this.id, nodes: nodes.map(toGrpcNode) })
  }

  async decreaseTargetSize(by: number): Promise<void> {
    await this.#call('decreaseTargetSize', { id: this.id, delta: -by })
  }

  async instances(): Promise<Instance[]> {
    const { instances } = await this.#call('nodes', { id: this.id })
    return instances.map(fromGrpcState)
  }

  async template(): Promise<V1Node | undefined> {
    const answer = await this.#call('templateNodeInfo', { id: this.id }).catch(ifImplemented)
    if (answer === undefined || answer.nodeBytes.byteLength === 0) return undefined
    return decodeProtobufMessage<V1Node>(answer.nodeBytes, 'io.k8s.api.core.v1.Node')
  }

  async options(defaults: Parameters<typeof toGrpcOptions>[0]) {
    const request = { id: this.id, defaults: toGrpcOptions(defaults) }
    const answer = await this.#call('getOptions', request).catch(ifImplemented)
    const options = answer?.nodeGroupAutoscalingOptions
    return options === undefined ? undefined : fromGrpcOptions(options, defaults)
  }
}

function pricingBy(call: Call): Pricing {
  const period = (startMs: number, endMs: number) => ({ startTimestamp: grpcTime(startMs), endTimestamp: grpcTime(endMs) })
  return {
    async nodePrice(node, startMs, endMs) {
      return (await call('pricingNodePrice', { node: toGrpcNode(node), ...period(startMs, endMs) })).price
    },
    async podPrice(pod: V1Pod, startMs, endMs) {
      const podBytes = encodeProtobufMessage(pod, 'io.k8s.api.core.v1.Pod')
      return (await call('pricingPodPrice', { podBytes, ...period(startMs, endMs) })).price
    },
  }
}

/** Some methods are optional. */
function ifImplemented(error: unknown): undefined {
  if (error instanceof GrpcError && error.code === grpcCodes.unimplemented) return undefined
  throw error
}
