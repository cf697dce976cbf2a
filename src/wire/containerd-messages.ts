/** The messages of containerd's own services that this program speaks. Numbers and names are containerd's. */
import { decodeMessage, describeMessages, encodeMessage } from '#wire/protobuf-messages.ts'

const types = describeMessages({
  SubscribeRequest: 'filters:1:string[]',
  Any: 'typeUrl:1:string value:2:bytes',
  Envelope: 'namespace:2:string topic:3:string event:4:Any',
  // Events of tasks and of containers all begin with the container's id; that of an exit names the process then.
  TaskEvent: 'containerId:1:string id:2:string',
})

export const containerdEventsMethod = '/containerd.services.events.v1.Events/Subscribe'

/** Every call names the namespace it is about. */
export const containerdNamespaceHeader = 'containerd-namespace'
/** Where CRI keeps what is Kubernetes'. */
export const kubernetesNamespace = 'k8s.io'

export const encodeSubscribeRequest = (filters: string[]): Uint8Array => encodeMessage(types.SubscribeRequest, { filters })

/** `processId` is the container's own id when its first process is meant. */
export type ContainerdEvent = { topic: string; containerId: string; processId: string }

export function decodeContainerdEvent(bytes: Uint8Array): ContainerdEvent {
  const { topic, event } = decodeMessage(types.Envelope, bytes) as { topic: string; event?: { value: Uint8Array } }
  if (topic !== '/tasks/exit') {
    // Only the first field is alike in all of them.
    return { topic, containerId: firstFieldOf(event?.value ?? Buffer.alloc(0)), processId: '' }
  }
  const { containerId, id } = decodeMessage(types.TaskEvent, event?.value ?? Buffer.alloc(0)) as { containerId: string; id: string }
  return { topic, containerId, processId: id }
}

const firstField = describeMessages({ First: 'containerId:1:string' }).First

function firstFieldOf(bytes: Uint8Array): string {
  return (decodeMessage(firstField, bytes) as { containerId: string }).containerId
}
