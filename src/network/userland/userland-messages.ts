import type { SocketAddress } from '#base/sockets.ts'

export type ToUserland =
  /** Descriptors of sockets that packets for the outside are led to. */
  | { kind: 'serve'; tcp: number; udp: number; ownAddress: string; nameServers: readonly string[] }
  | ({ kind: 'listen'; id: number } & SocketAddress)

export type FromUserland = { id: number; descriptor: number } | { id: number; code: string; message: string }
