/** The messages and methods of etcd's v3 API that this program speaks. Numbers and names are etcd's. */
import { type GrpcMethod, grpcMessages } from '#wire/grpc-method.ts'
import { describeMessages } from '#wire/protobuf-messages.ts'

/** Compare, filter and event types, and the others that etcd numbers. */
export const compareResults = { '=': 0, '>': 1, '<': 2, '!=': 3 } as const
export const compareTargets = { version: 0, createRevision: 1, modRevision: 2, value: 3, lease: 4 } as const
export const eventTypes = { put: 0, delete: 1 } as const
export const watchFilters = { noPut: 0, noDelete: 1 } as const
export const sortOrders = { none: 0, ascend: 1, descend: 2 } as const
export const sortTargets = { key: 0, version: 1, create: 2, mod: 3, value: 4 } as const

const types = describeMessages({
  ResponseHeader: 'clusterId:1:id memberId:2:id revision:3:int raftTerm:4:int',
  KeyValue: 'key:1:bytes createRevision:2:int modRevision:3:int version:4:int value:5:bytes lease:6:id',
  Event: 'type:1:int kv:2:KeyValue prevKv:3:KeyValue',
  RangeRequest:
    'key:1:bytes rangeEnd:2:bytes limit:3:int revision:4:int sortOrder:5:int sortTarget:6:int serializable:7:bool keysOnly:8:bool ' +
    'countOnly:9:bool minModRevision:10:int maxModRevision:11:int minCreateRevision:12:int maxCreateRevision:13:int',
  RangeResponse: 'header:1:ResponseHeader kvs:2:KeyValue[] more:3:bool count:4:int',
  PutRequest: 'key:1:bytes value:2:bytes lease:3:id prevKv:4:bool ignoreValue:5:bool ignoreLease:6:bool',
  PutResponse: 'header:1:ResponseHeader prevKv:2:KeyValue',
  DeleteRangeRequest: 'key:1:bytes rangeEnd:2:bytes prevKv:3:bool',
  DeleteRangeResponse: 'header:1:ResponseHeader deleted:2:int prevKvs:3:KeyValue[]',
  RequestOp: 'requestRange:1:RangeRequest requestPut:2:PutRequest requestDeleteRange:3:DeleteRangeRequest requestTxn:4:TxnRequest',
  ResponseOp: 'responseRange:1:RangeResponse responsePut:2:PutResponse responseDeleteRange:3:DeleteRangeResponse',
  Compare:
    'result:1:int target:2:int key:3:bytes version:4:int createRevision:5:int modRevision:6:int value:7:bytes lease:8:id rangeEnd:64:bytes',
  TxnRequest: 'compare:1:Compare[] success:2:RequestOp[] failure:3:RequestOp[]',
  TxnResponse: 'header:1:ResponseHeader succeeded:2:bool responses:3:ResponseOp[]',
  CompactionRequest: 'revision:1:int physical:2:bool',
  HeaderOnly: 'header:1:ResponseHeader',
  Empty: '',
  WatchRequest: 'createRequest:1:WatchCreateRequest cancelRequest:2:WatchCancelRequest progressRequest:3:Empty',
  WatchCreateRequest:
    'key:1:bytes rangeEnd:2:bytes startRevision:3:int progressNotify:4:bool filters:5:int[] prevKv:6:bool watchId:7:int fragment:8:bool',
  WatchCancelRequest: 'watchId:1:int',
  WatchResponse:
    'header:1:ResponseHeader watchId:2:int created:3:bool canceled:4:bool compactRevision:5:int cancelReason:6:string fragment:7:bool events:11:Event[]',
  LeaseGrantRequest: 'ttl:1:int id:2:id',
  LeaseGrantResponse: 'header:1:ResponseHeader id:2:id ttl:3:int error:4:string',
  LeaseId: 'id:1:id',
  LeaseKeepAliveResponse: 'header:1:ResponseHeader id:2:id ttl:3:int',
  LeaseTimeToLiveRequest: 'id:1:id keys:2:bool',
  LeaseTimeToLiveResponse: 'header:1:ResponseHeader id:2:id ttl:3:int grantedTtl:4:int keys:5:bytes[]',
  LeaseLeasesResponse: 'header:1:ResponseHeader leases:2:LeaseId[]',
  Member: 'id:1:id name:2:string peerUrls:3:string[] clientUrls:4:string[] isLearner:5:bool',
  MemberListResponse: 'header:1:ResponseHeader members:2:Member[]',
  MemberAddRequest: 'peerUrls:1:string[] isLearner:2:bool',
  MemberAddResponse: 'header:1:ResponseHeader member:2:Member members:3:Member[]',
  MemberId: 'id:1:id',
  StatusResponse:
    'header:1:ResponseHeader version:2:string dbSize:3:int leader:4:id raftIndex:5:int raftTerm:6:int raftAppliedIndex:7:int ' +
    'errors:8:string[] dbSizeInUse:9:int isLearner:10:bool storageVersion:11:string dbSizeQuota:12:int',
  SnapshotResponse: 'header:1:ResponseHeader remainingBytes:2:int blob:3:bytes version:4:string',
  AlarmRequest: 'action:1:int memberId:2:id alarm:3:int',
  AlarmMember: 'memberId:1:id alarm:2:int',
  AlarmResponse: 'header:1:ResponseHeader alarms:2:AlarmMember[]',
})

export type ResponseHeader = { clusterId: bigint; memberId: bigint; revision: number; raftTerm: number }
export type PbKeyValue = { key: Uint8Array; createRevision: number; modRevision: number; version: number; value: Uint8Array; lease: bigint }
export type PbEvent = { type: number; kv: PbKeyValue | undefined; prevKv: PbKeyValue | undefined }
export type PbRangeRequest = {
  key: Uint8Array
  rangeEnd: Uint8Array
  limit: number
  revision: number
  sortOrder: number
  sortTarget: number
  serializable: boolean
  keysOnly: boolean
  countOnly: boolean
  minModRevision: number
  maxModRevision: number
  minCreateRevision: number
  maxCreateRevision: number
}
export type PbRangeResponse = { header: ResponseHeader | undefined; kvs: PbKeyValue[]; more: boolean; count: number }
export type PbPutRequest = {
  key: Uint8Array
  value: Uint8Array
  lease: bigint
  prevKv: boolean
  ignoreValue: boolean
  ignoreLease: boolean
}
export type PbPutResponse = { header: ResponseHeader | undefined; prevKv: PbKeyValue | undefined }
export type PbDeleteRangeRequest = { key: Uint8Array; rangeEnd: Uint8Array; prevKv: boolean }
export type PbDeleteRangeResponse = { header: ResponseHeader | undefined; deleted: number; prevKvs: PbKeyValue[] }
export type PbRequestOp = {
  requestRange?: PbRangeRequest
  requestPut?: PbPutRequest
  requestDeleteRange?: PbDeleteRangeRequest
  requestTxn?: PbTxnRequest
}
export type PbResponseOp = { responseRange?: PbRangeResponse; responsePut?: PbPutResponse; responseDeleteRange?: PbDeleteRangeResponse }
export type PbCompare = {
  result: number
  target: number
  key: Uint8Array
  version: number
  createRevision: number
  modRevision: number
  value: Uint8Array
  lease: bigint
  rangeEnd: Uint8Array
}
export type PbTxnRequest = { compare: PbCompare[]; success: PbRequestOp[]; failure: PbRequestOp[] }
export type PbTxnResponse = { header: ResponseHeader | undefined; succeeded: boolean; responses: PbResponseOp[] }
export type PbWatchCreateRequest = {
  key: Uint8Array
  rangeEnd: Uint8Array
  startRevision: number
  progressNotify: boolean
  filters: number[]
  prevKv: boolean
  watchId: number
  fragment: boolean
}
export type PbWatchRequest = { createRequest?: PbWatchCreateRequest; cancelRequest?: { watchId: number }; progressRequest?: object }
export type PbWatchResponse = {
  header: ResponseHeader | undefined
  watchId: number
  created: boolean
  canceled: boolean
  compactRevision: number
  cancelReason: string
  fragment: boolean
  events: PbEvent[]
}
export type HeaderOnly = { header: ResponseHeader | undefined }
export type PbMember = { id: bigint; name: string; peerUrls: string[]; clientUrls: string[]; isLearner: boolean }
export type PbStatusResponse = HeaderOnly & {
  version: string
  dbSize: number
  leader: bigint
  raftIndex: number
  raftTerm: number
  raftAppliedIndex: number
  errors: string[]
  dbSizeInUse: number
  isLearner: boolean
  storageVersion: string
  dbSizeQuota: number
}

/** What a message looks like when it is made: what is left out is zero. */
type Draft<T> = { [Key in keyof T]?: T[Key] extends (infer Item)[] ? Draft<Item>[] : T[Key] extends Uint8Array ? T[Key] : DraftOf<T[Key]> }
type DraftOf<T> = T extends Uint8Array | bigint | number | string | boolean | undefined ? T : T extends object ? Draft<T> : T

export type EtcdMethod<Request, Response> = GrpcMethod<Request, Response, Draft<Request>, Draft<Response>>

const method = <Request, Response>(
  path: string,
  request: keyof typeof types,
  response: keyof typeof types,
): EtcdMethod<Request, Response> => ({
  path: `/etcdserverpb.${path}`,
  ...grpcMessages(types[request], types[response]),
})

type None = Record<string, never>

export const etcdMethods = {
  range: method<PbRangeRequest, PbRangeResponse>('KV/Range', 'RangeRequest', 'RangeResponse'),
  put: method<PbPutRequest, PbPutResponse>('KV/Put', 'PutRequest', 'PutResponse'),
  deleteRange: method<PbDeleteRangeRequest, PbDeleteRangeResponse>('KV/DeleteRange', 'DeleteRangeRequest', 'DeleteRangeResponse'),
  txn: method<PbTxnRequest, PbTxnResponse>('KV/Txn', 'TxnRequest', 'TxnResponse'),
  compact: method<{ revision: number; physical: boolean }, HeaderOnly>('KV/Compact', 'CompactionRequest', 'HeaderOnly'),
  watch: method<PbWatchRequest, PbWatchResponse>('Watch/Watch', 'WatchRequest', 'WatchResponse'),
  leaseGrant: method<{ ttl: number; id: bigint }, HeaderOnly & { id: bigint; ttl: number; error: string }>(
    'Lease/LeaseGrant',
    'LeaseGrantRequest',
    'LeaseGrantResponse',
  ),
  leaseRevoke: method<{ id: bigint }, HeaderOnly>('Lease/LeaseRevoke', 'LeaseId', 'HeaderOnly'),
  leaseKeepAlive: method<{ id: bigint }, HeaderOnly & { id: bigint; ttl: number }>(
    'Lease/LeaseKeepAlive',
    'LeaseId',
    'LeaseKeepAliveResponse',
  ),
  leaseTimeToLive: method<{ id: bigint; keys: boolean }, HeaderOnly & { id: bigint; ttl: number; grantedTtl: number; keys: Uint8Array[] }>(
    'Lease/LeaseTimeToLive',
    'LeaseTimeToLiveRequest',
    'LeaseTimeToLiveResponse',
  ),
  leaseLeases: method<None, HeaderOnly & { leases: { id: bigint }[] }>('Lease/LeaseLeases', 'Empty', 'LeaseLeasesResponse'),
  memberList: method<None, HeaderOnly & { members: PbMember[] }>('Cluster/MemberList', 'Empty', 'MemberListResponse'),
  memberAdd: method<{ peerUrls: string[]; isLearner: boolean }, HeaderOnly & { member: PbMember | undefined; members: PbMember[] }>(
    'Cluster/MemberAdd',
    'MemberAddRequest',
    'MemberAddResponse',
  ),
  memberPromote: method<{ id: bigint }, HeaderOnly & { members: PbMember[] }>('Cluster/MemberPromote', 'MemberId', 'MemberListResponse'),
  memberRemove: method<{ id: bigint }, HeaderOnly & { members: PbMember[] }>('Cluster/MemberRemove', 'MemberId', 'MemberListResponse'),
  status: method<None, PbStatusResponse>('Maintenance/Status', 'Empty', 'StatusResponse'),
  defragment: method<None, HeaderOnly>('Maintenance/Defragment', 'Empty', 'HeaderOnly'),
  snapshot: method<None, HeaderOnly & { remainingBytes: number; blob: Uint8Array; version: string }>(
    'Maintenance/Snapshot',
    'Empty',
    'SnapshotResponse',
  ),
  alarm: method<{ action: number; memberId: bigint; alarm: number }, HeaderOnly & { alarms: { memberId: bigint; alarm: number }[] }>(
    'Maintenance/Alarm',
    'AlarmRequest',
    'AlarmResponse',
  ),
}
