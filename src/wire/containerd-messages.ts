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

const store = describeMessages({
  FieldMask: 'paths:1:string[]',
  CreateLease: 'id:1:string labels:3:map',
  DeleteLease: 'id:1:string sync:2:bool',
  WriteRequest: 'action:1:int ref:2:string total:3:int expected:4:string offset:5:int data:6:bytes labels:7:map',
  WriteResponse: 'action:1:int offset:4:int total:5:int digest:6:string',
  ContentInfo: 'digest:1:string size:2:int labels:5:map',
  UpdateContent: 'info:1:ContentInfo updateMask:2:FieldMask',
  Descriptor: 'mediaType:1:string digest:2:string size:3:int annotations:5:map',
  Image: 'name:1:string labels:2:map target:3:Descriptor',
  CreateImage: 'image:1:Image',
  UpdateImage: 'image:1:Image updateMask:2:FieldMask',
})

export const writeActions = { stat: 0, write: 1, commit: 2 } as const

export type WriteRequest = {
  action: number
  ref: string
  total?: number
  expected?: string
  offset?: number
  data?: Uint8Array
  labels?: Record<string, string>
}
export type StoredImage = {
  name: string
  labels?: Record<string, string>
  target: { mediaType: string; digest: string; size: number; annotations?: Record<string, string> }
}
type Mask = { paths: string[] }

const request = <T extends object>(service: string, type: keyof typeof store) => ({
  path: `/containerd.services.${service}`,
  encode: (value: T): Uint8Array => encodeMessage(store[type], value),
})

/** Calls of which only the success matters. */
export const containerdCalls = {
  createLease: request<{ id: string; labels: Record<string, string> }>('leases.v1.Leases/Create', 'CreateLease'),
  deleteLease: request<{ id: string; sync: boolean }>('leases.v1.Leases/Delete', 'DeleteLease'),
  updateContent: request<{ info: { digest: string; labels: Record<string, string> }; updateMask: Mask }>(
    'content.v1.Content/Update',
    'UpdateContent',
  ),
  createImage: request<{ image: StoredImage }>('images.v1.Images/Create', 'CreateImage'),
  updateImage: request<{ image: StoredImage; updateMask: Mask }>('images.v1.Images/Update', 'UpdateImage'),
}

/** What belongs to a lease is not swept away while it lasts. */
export const containerdLeaseHeader = 'containerd-lease'

export const containerdWriteMethod = '/containerd.services.content.v1.Content/Write'
export const encodeWriteRequest = (value: WriteRequest): Uint8Array => encodeMessage(store.WriteRequest, value)
