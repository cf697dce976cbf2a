/** Memory that is kept for the next time, so that it need not be taken from the system again. */
const holders = new Set<() => void>()

/** `letGo` is called before an idle process gives memory back; what it lets go of may not be needed by anybody at that time. */
export function keepsSpareMemory(letGo: () => void): Disposable {
  holders.add(letGo)
  return { [Symbol.dispose]: () => holders.delete(letGo) }
}

export function letGoOfSpareMemory(): void {
  for (const letGo of holders) letGo()
}
