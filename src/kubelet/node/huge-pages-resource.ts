/** What pods call pages of a size: `hugepages-2Mi`. */
export function hugePagesResource(kibibytes: number): string {
  if (kibibytes >= 1 << 20) return `hugepages-${kibibytes >> 20}Gi`
  return kibibytes >= 1024 ? `hugepages-${kibibytes >> 10}Mi` : `hugepages-${kibibytes}Ki`
}

/** As the kernel writes them, from KiB. */
export function hugePageSizes(sizes: Iterable<number>): string[] {
  return [...sizes].map((kibibytes) => (kibibytes >= 1 << 20 ? `${kibibytes >> 20}GB` : `${kibibytes >> 10}MB`))
}
