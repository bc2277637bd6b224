const repetitions = [1, 2, 3];

/** What takes less is noise, in milliseconds. */
const least = 20;

/**
 * How many times the CPU some work takes for four times as much: about 4 if it is linear, 16 if it is quadratic. The CPU
 * of this process and not the clock, which goes on while others have the machine.
 *
 * @param prepared makes the work for so much, anew for each of three repetitions, the least of which counts
 */
export const growth = (prepared: (count: number) => () => void, count: number): number => {
  const cpu = (each: number): number => {
    const taken = repetitions.map(() => {
      const work = prepared(each);
      const before = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000;
    });
    return Math.max(least, Math.min(...taken));
  };
  // Once to have it compiled.
  prepared(count)();
  return cpu(4 * count) / cpu(count);
};
