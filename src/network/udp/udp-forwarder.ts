/** Flannel's oldest backend: packets of pods go from node to node in datagrams, by a program instead of the kernel. */
import type { Files } from '#base/files.ts'
import { FollowedFiles } from '#base/followed-files.ts'
import type { Logger } from '#base/log.ts'
import type { SocketAddress, Sockets } from '#base/sockets.ts'
import type { TunDevice } from '#base/tun-device.ts'
import { type ForwardedRange, ForwardTable } from '#network/udp/forward-table.ts'

/** What the forwarder is told by its file. */
export type ForwarderSettings = { device: string; at: SocketAddress; ranges: readonly ForwardedRange[] }

export type UdpForwarderOptions = {
  settingsFile: string
  files: Files
  sockets: Sockets
  logger: Logger
  openTun(name: string, onPacket: (packet: Uint8Array) => void, onEnd: (error: Error) => void): Promise<TunDevice>
}

/** Runs until the device is taken away; follows its file. Nodes that are not in the file are not heard: anybody could send packets to pods. */
export async function runUdpForwarder({ settingsFile, files, sockets, logger, openTun }: UdpForwarderOptions): Promise<void> {
  using changes = FollowedFiles.at([settingsFile], files)
  const { device, at, ranges } = JSON.parse(await files.readText(settingsFile)) as ForwarderSettings
  let table = new ForwardTable(ranges)
  let nodes = new Set(ranges.map(({ address }) => address))
  const ended = Promise.withResolvers<void>()
  let tun: TunDevice | undefined
  const socket = await sockets.bindUdp(at, (packet, from) => {
    if (nodes.has(from.host)) tun?.write(packet)
  })
  const send = (packet: Uint8Array) => {
    const host = table.addressFor(packet)
    // The socket keeps the packet until it is sent, the device reads the next one into the same place.
    if (host !== undefined) socket.send(Uint8Array.from(packet), { host, port: at.port })
  }
  tun = await openTun(device, send, ended.reject)
  const readPeers = async () => {
    const text = await files.readTextIfPresent(settingsFile)
    if (text === undefined) return
    const { ranges } = JSON.parse(text) as ForwarderSettings
    table = new ForwardTable(ranges)
    nodes = new Set(ranges.map(({ address }) => address))
    logger.debug('pod network: udp peers changed', { nodes: nodes.size })
  }
  changes.readAgain(readPeers, (error) => logger.error('pod network: failed to read the udp peers', { settingsFile, error: String(error) }))
  try {
    await ended.promise
  } finally {
    socket.close()
    tun.close()
  }
}
