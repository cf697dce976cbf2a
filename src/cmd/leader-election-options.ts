import { defineOptions, duration, onOff, text } from '#base/options.ts'

const seconds = (count: number) => ({ default: count * 1000, defaultText: `${count}s` })

/** Of several such programs let one do the work: upstream's flags and times. */
export const leaderElectionOptions = (programs: string, lease: string) =>
  defineOptions({
    leaderElect: onOff(`of several ${programs} let one do the work`, { default: true }),
    leaderElectLeaseDuration: duration('how long others wait before they take over', seconds(15)),
    leaderElectRenewDeadline: duration('how long the leader tries to renew before it gives up', seconds(10)),
    leaderElectRetryPeriod: duration('how often to try', seconds(2)),
    leaderElectResourceName: text('the name of the lease', { placeholder: 'NAME', default: lease }),
    leaderElectResourceNamespace: text('the namespace of the lease', { placeholder: 'NAME', default: 'kube-system' }),
  })
