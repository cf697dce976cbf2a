/** Processor time of this thread in milliseconds: it stands still while the machine is busy with others. */
export type ThreadTime = () => number

export const timeOfThread: ThreadTime = () => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
