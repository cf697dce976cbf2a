import { etcdMessages, howToMakeSpace } from '#store/etcd/etcd-errors.ts'

const alarms = { noSpace: 1, corrupt: 2 } as const

export const listAlarms = { action: 0, memberId: 0n, alarm: 0 }

/** What is wrong and what to do, in one sentence; undefined where no alarm is raised. */
export function alarmText(raised: readonly { memberId: bigint; alarm: number }[]): string | undefined {
  const membersWith = (kind: number) =>
    raised.filter(({ alarm }) => alarm === kind).map(({ memberId }) => BigInt.asUintN(64, memberId).toString(16))
  const [full, corrupt] = [membersWith(alarms.noSpace), membersWith(alarms.corrupt)]
  if (corrupt.length > 0)
    return `the data of etcd member ${corrupt.join(', ')} differs from the others': remove the member, and add it again with an empty data directory`
  return full.length > 0 ? `${etcdMessages.noSpace} (etcd member ${full.join(', ')}): ${howToMakeSpace}` : undefined
}
