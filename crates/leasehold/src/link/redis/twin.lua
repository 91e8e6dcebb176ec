-- One server, one vote. Argument S1: nothing is sent twice, so a first vote that finds its own owner has come, by another
-- address, to a server that has voted already: {-3, time}. It counts for nothing, and nothing is changed.
if ours then
  return {-3, us}
end
