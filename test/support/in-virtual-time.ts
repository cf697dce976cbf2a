import type { VirtualClock } from '#base/virtual-clock.ts'

/** Lets virtual time pass until the promise is settled, no faster than files and sockets, which take time of the other kind, can bear. */
export const inVirtualTime = <T>(clock: VirtualClock, promise: Promise<T>): Promise<T> => clock.during(promise)
