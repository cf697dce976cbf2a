/** Who belongs to an etcd cluster: asked of it, and changed, by way of whichever member answers. */
import type { Clock } from '#base/clock.ts'
import { GrpcError, grpcCodes } from '#base/grpc.ts'
import type { EtcdConnection } from '#store/etcd/etcd-connection.ts'
import { etcdMethods, type PbMember } from '#wire/etcd-messages.ts'

const lookEveryMs = 250
const healthMs = 60_000

export async function etcdMembers(connection: EtcdConnection): Promise<PbMember[]> {
  return (await connection.read(etcdMethods.memberList, {})).members
}

/**
 * A learner first: it gets the data without a vote, so that the cluster goes on whatever becomes of the new one. Where it was added
 * before and has never run, nothing changes. One that has run at this address is replaced: whoever calls has its address, and not its data.
 */
export async function addEtcdLearner(connection: EtcdConnection, peerUrl: string, clock: Clock): Promise<PbMember[]> {
  return whenHealthy(clock, async () => {
    const members = await etcdMembers(connection)
    const known = members.find(({ peerUrls }) => peerUrls.includes(peerUrl))
    // Only who has run has a name.
    if (known?.name === '') return members
    if (known !== undefined) await connection.write(etcdMethods.memberRemove, { id: known.id })
    return (await connection.write(etcdMethods.memberAdd, { peerUrls: [peerUrl], isLearner: true })).members
  })
}

/** Gives the learner its vote as soon as it has caught up. */
export async function promoteEtcdLearner(
  connection: EtcdConnection,
  id: bigint,
  { clock, timeoutMs }: { clock: Clock; timeoutMs: number },
): Promise<void> {
  const endMs = clock.monotonic() + timeoutMs
  for (;;) {
    try {
      await connection.read(etcdMethods.memberPromote, { id })
      return
    } catch (error) {
      if (error instanceof GrpcError && hasVote.test(error.message)) return
      if (!(error instanceof GrpcError && isBehind(error)) || clock.monotonic() > endMs) throw error
      await clock.sleep(lookEveryMs)
    }
  }
}

/** Where it has gone already, nothing changes. */
export async function removeEtcdMember(connection: EtcdConnection, id: bigint, clock: Clock): Promise<void> {
  await whenHealthy(clock, async () => {
    const members = await etcdMembers(connection)
    if (members.some((member) => member.id === id)) await connection.write(etcdMethods.memberRemove, { id })
  })
}

/** etcd changes nothing until all members have been connected for five seconds. */
async function whenHealthy<T>(clock: Clock, change: () => Promise<T>): Promise<T> {
  for (const endMs = clock.monotonic() + healthMs; ; await clock.sleep(lookEveryMs)) {
    try {
      return await change()
    } catch (error) {
      if (!/unhealthy cluster|not enough started members/.test(String(error)) || clock.monotonic() > endMs) throw error
    }
  }
}

/** Of the member that is asked: who it is, whether it has a vote, and whether it knows of a leader. */
export async function etcdMemberStatus(connection: EtcdConnection): Promise<{ id: bigint; isLearner: boolean; hasLeader: boolean }> {
  const { header, isLearner, leader } = await connection.read(etcdMethods.status, {})
  return { id: header?.memberId ?? 0n, isLearner, hasLeader: leader !== 0n }
}

const hasVote = /can only promote a learner member$|member is not a learner/
const isBehind = ({ code, message }: GrpcError): boolean => code === grpcCodes.failedPrecondition && /in sync with leader/.test(message)
