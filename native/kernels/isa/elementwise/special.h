// Special functions without branches, for every device (see arithmetic.h), computed in a type W whatever the type of the
// elements: double, on accelerators without it float. Loops over them vectorise.
//
// Each splits its range, takes a polynomial or a quotient of two on every part, and selects. An argument of another part
// may give anything there. Where two functions stand for one, `near` is of a
// part of the range, which most arguments are of, and costs less (UNARY_PARTS of ops.def). Errors against mpmath, in units in
// the last place of a double, are in docs/performance.md; near zeros of a function other than 0 they are of the size of
// the function around it.
//
// The text needs FUNCTION, INFINITE, NOT_A_NUMBER, madd, and C's functions of numbers; of C++'s, sin and cos are exact below
// 2^20 only, so that what is further out takes its sine and cosine as arguments.

// POLY<n>(x, c0, c1, ...): the polynomial of n coefficients.
#define POLY1(x, a) ((W)(a))
#define POLY2(x, a, ...) madd(POLY1(x, __VA_ARGS__), x, (W)(a))
#define POLY3(x, a, ...) madd(POLY2(x, __VA_ARGS__), x, (W)(a))
#define POLY4(x, a, ...) madd(POLY3(x, __VA_ARGS__), x, (W)(a))
#define POLY5(x, a, ...) madd(POLY4(x, __VA_ARGS__), x, (W)(a))
#define POLY6(x, a, ...) madd(POLY5(x, __VA_ARGS__), x, (W)(a))
#define POLY7(x, a, ...) madd(POLY6(x, __VA_ARGS__), x, (W)(a))
#define POLY8(x, a, ...) madd(POLY7(x, __VA_ARGS__), x, (W)(a))
#define POLY9(x, a, ...) madd(POLY8(x, __VA_ARGS__), x, (W)(a))
#define POLY10(x, a, ...) madd(POLY9(x, __VA_ARGS__), x, (W)(a))
#define POLY11(x, a, ...) madd(POLY10(x, __VA_ARGS__), x, (W)(a))
#define POLY12(x, a, ...) madd(POLY11(x, __VA_ARGS__), x, (W)(a))
#define POLY13(x, a, ...) madd(POLY12(x, __VA_ARGS__), x, (W)(a))
#define POLY14(x, a, ...) madd(POLY13(x, __VA_ARGS__), x, (W)(a))
#define POLY15(x, a, ...) madd(POLY14(x, __VA_ARGS__), x, (W)(a))
#define POLY16(x, a, ...) madd(POLY15(x, __VA_ARGS__), x, (W)(a))
#define POLY17(x, a, ...) madd(POLY16(x, __VA_ARGS__), x, (W)(a))
#define POLY18(x, a, ...) madd(POLY17(x, __VA_ARGS__), x, (W)(a))
#define POLY19(x, a, ...) madd(POLY18(x, __VA_ARGS__), x, (W)(a))
#define POLY20(x, a, ...) madd(POLY19(x, __VA_ARGS__), x, (W)(a))
#define POLY21(x, a, ...) madd(POLY20(x, __VA_ARGS__), x, (W)(a))
#define POLY22(x, a, ...) madd(POLY21(x, __VA_ARGS__), x, (W)(a))
#define POLY23(x, a, ...) madd(POLY22(x, __VA_ARGS__), x, (W)(a))
#define POLY24(x, a, ...) madd(POLY23(x, __VA_ARGS__), x, (W)(a))
#define POLY25(x, a, ...) madd(POLY24(x, __VA_ARGS__), x, (W)(a))
#define POLY26(x, a, ...) madd(POLY25(x, __VA_ARGS__), x, (W)(a))
#define POLY27(x, a, ...) madd(POLY26(x, __VA_ARGS__), x, (W)(a))
#define POLY28(x, a, ...) madd(POLY27(x, __VA_ARGS__), x, (W)(a))
#define POLY29(x, a, ...) madd(POLY28(x, __VA_ARGS__), x, (W)(a))
#define POLY30(x, a, ...) madd(POLY29(x, __VA_ARGS__), x, (W)(a))
#define POLY31(x, a, ...) madd(POLY30(x, __VA_ARGS__), x, (W)(a))

// ---- the gamma function

// Of pi r, |r| <= 1/2.
FUNCTION W sine_pi(W r) {
  const W z = r * r;
  return r * POLY9(z, 3.141592653589793, -5.167712780049969, 2.5501640398773007, -0.5992645293189447, 0.0821458865731029,
                   -0.007370430505916944, 0.0004662998161898394, -2.1903497074626018e-05, 7.697826768224191e-07);
}
FUNCTION W cosine_pi(W r) {
  const W z = r * r;
  return POLY11(z, 1, -4.934802200544679, 4.0587121264167685, -1.3352627688545895, 0.23533063035889057, -0.0258068913899647,
                0.0019295743088292236, -0.00010463810062669023, 4.303048928252634e-06, -1.3872781256776336e-07,
                3.50031217666946e-09);
}

// The logarithm of the gamma function between 1 and 4, of the distances u from 1 and v from 2, where it is 0.
FUNCTION W lgamma_between(W u, W v) {
  return u * v *
         POLY10(u, 0.5772156649015329, 1.9184491240724417, 2.5482869266894705, 1.7353784145854594, 0.6475379331820537,
                0.1315475077115862, 0.013646965686628166, 0.0006254321099418796, 9.052065947579509e-06, 8.282713446174468e-09) /
         POLY10(u, 1, 3.748513119379957, 5.738202953731988, 4.6346276830093025, 2.1337997969050173, 0.5661283333714182,
                0.08367193812940361, 0.006335723831552411, 0.00020761819740754223, 1.979616037398412e-06);
}
// Of |a| < 4: below 1 moved up, below 0 by the reflection.
FUNCTION W lgamma_near(W a) {
  const W m = fabs(a), s = fabs(sine_pi(m - rint(m))) * (W)0.3183098861837907;
  const bool less = m < 1, above = a > 0;
  const W u = less ? m : m - 1;
  const W r = lgamma_between(u, u - 1);
  const W l = log((above ? (W)1 : s) * (less == above ? m : (W)1));
  return (0 - l) + copysign((W)1, a) * r;
}
// What Stirling's series corrects, from 3 on.
FUNCTION W stirling_rest(W a) {
  const W z = 1 / a, w = z * z;
  return z * POLY13(w, 0.08333333333333333, -0.0027777777777757695, 0.000793650792622404, -0.0005952378854503139,
                    0.0008417282394032359, -0.0019160464198791072, 0.006346110578292672, -0.027601910018978465, 0.13605466944124706,
                    -0.6346190865706115, 2.348297111372058, -5.724231505133728, 6.653396422514748);
}
FUNCTION W lgamma_all(W a) {
  const W m = fabs(a), near = lgamma_near(a);
  const W above = (m - (W)0.5) * (log(m) - 1) + ((W)0.41893853320467274 + stirling_rest(m));
  const W below = log((W)3.141592653589793 / fabs(sine_pi(m - rint(m))) / m) - above;
  const W far = a > 0 ? above : (m < (W)4e15 ? below : (W)INFINITE);
  return m < 4 ? near : (a != a ? a : far);
}

// Of a > 0: the asymptotic series from 4 on, below that after four steps of the recurrence.
FUNCTION W digamma_near(W a) {
  const bool low = a < 4;
  const W y = low ? a + 4 : a, z = 1 / y, w = z * z;
  const W r = log(y) -
              ((W)0.5 * z + w * POLY12(w, 0.08333333333333333, -0.008333333333331309, 0.00396825396669174, -0.004166666189390399,
                                       0.00757568128718997, -0.021085480231143226, 0.08287780760807265, -0.4238843454039485,
                                       2.4691541279502918, -13.426103331601523, 53.456525338561356, -107.61230023246503));
  const W steps = POLY4(a, 6, 22, 18, 4) / (a * POLY4(a, 6, 11, 6, 1));
  return low ? r - steps : r;
}
FUNCTION W digamma_all(W a) {
  const bool below = a < 0;
  const W r = a - rint(a);
  const W f = digamma_near(below ? 1 - a : a) - (below ? (W)3.141592653589793 * cosine_pi(r) / sine_pi(r) : 0);
  const W pole = a == 0 ? copysign((W)INFINITE, -a) : f;
  return (below & (r == 0)) ? (W)NOT_A_NUMBER : pole;
}

FUNCTION W trigamma_near(W a) {
  const bool low = a < 4;
  const W y = low ? a + 4 : a, z = 1 / y, w = z * z;
  const W r = z + w * ((W)0.5 + z * POLY13(w, 0.16666666666666666, -0.03333333333332672, 0.023809523803528382, -0.03333333117449136,
                                           0.07575716689393194, -0.2530667409891412, 1.1631511249372664, -6.909497130776345,
                                           48.13884616489952, -338.0939324143755, 1996.0072839251322, -8075.901807821274,
                                           15962.435130535045));
  const W p = a * POLY4(a, 6, 11, 6, 1);
  return low ? r + POLY7(a, 36, 132, 242, 240, 130, 36, 4) / (p * p) : r;
}
FUNCTION W trigamma_all(W a) {
  const bool below = a < 0;
  const W q = (W)3.141592653589793 / sine_pi(a - rint(a));
  const W f = trigamma_near(below ? 1 - a : a);
  return below ? q * q - f : f;
}

// ---- Bessel functions of the first and second kind: up to 5 by polynomials, J's with factors for its zeros; beyond, of the sine s
// and cosine c of |a|, with the asymptotic series' two quotients.

FUNCTION W j0_near(W a) {
  const W x = fabs(a), z = a * a;
  const W zeros = (x - (W)2.404825557695773 - (W)-1.176691651530894e-16) * (x + (W)2.404825557695773) *
                  ((x - (W)5.520078110286311 - (W)8.088597146146722e-17) * (x + (W)5.520078110286311));
  return x < (W)1e-9
             ? (W)1
             : zeros * POLY12(z, 0.005674693325155617, -0.00025120235414943397, 4.784356140904163e-06, -5.317886335202576e-08,
                              3.935827378974691e-10, -2.0931214084068986e-12, 8.413184775762446e-15, -2.6504977669610348e-17,
                              6.72768839420786e-20, -1.4048419907288446e-22, 2.422940453295708e-25, -3.027341846156215e-28);
}
FUNCTION W j1_near(W a) {
  const W x = fabs(a), z = a * a;
  return a * ((x - (W)3.8317059702075125 - (W)-1.5269184090088067e-16) * (x + (W)3.8317059702075125)) *
         POLY12(z, -0.03405537391318949, 0.0019373847544143909, -4.5415014680603695e-05, 6.019939527899011e-07,
                -5.188298753339339e-09, 3.154240069127585e-11, -1.4282174313819426e-13, 5.008652190605828e-16,
                -1.4013305798367536e-18, 3.1982003560080242e-21, -5.974709444910393e-24, 7.961220275215586e-27);
}
FUNCTION W y0_near(W a) {
  const W z = a * a;
  return madd((W)0.6366197723675814 * log(a), j0_near(a),
              POLY15(z, -0.07380429510868723, 0.17760601686906713, -0.016073968025938426, 0.0005386026668616549,
                     -9.495005205221479e-06, 1.03584760336256e-07, -7.693079900842326e-10, 4.143565735503777e-12,
                     -1.693271506067321e-14, 5.431059655316125e-17, -1.4038647066839498e-19, 2.986893002945303e-22,
                     -5.315751201691637e-25, 7.899256327985279e-28, -8.490190195577884e-31));
}
FUNCTION W y1_near(W a) {
  const W z = a * a;
  const W r = (W)0.6366197723675814 * (log(a) * j1_near(a) - 1 / a) +
              a * POLY14(z, -0.19605709064623894, 0.05434868816051024, -0.0029553053360798333, 7.164268749973928e-05,
                         -9.926740619423e-07, 8.931879621161761e-09, -5.648024550383552e-11, 2.6494814899169717e-13,
                         -9.591484905689177e-16, 2.761624324377658e-18, -6.475922475743837e-21, 1.2592795063570497e-23,
                         -2.029891958663369e-26, 2.351682982706404e-29);
  return a == 0 ? -(W)INFINITE : r;
}
// The two quotients of an order, p for `first` and q for `second`, and the root.
FUNCTION W bessel_far(W x, int order, W first, W second) {
  const W z = 5 / x, w = z * z;
  const W p = order == 0 ? POLY8(w, 1, 6.802667718671009, 15.437256744658214, 14.633209844374118, 5.945354185773103,
                                 0.9523427595362864, 0.04739108692484987, 0.00035841362798276776) /
                               POLY8(w, 1, 6.805480218671008, 15.456217714413972, 14.675495898549888, 5.984089306314081,
                                     0.967011350029139, 0.04939861315444542, 0.0004236864591376604)
                         : POLY8(w, 1, 6.712964144224935, 14.991274731792316, 13.935202983175865, 5.528857163458196,
                                 0.8619304267738689, 0.0420876903316019, 0.0003546084743973066) /
                               POLY8(w, 1, 6.708276644224936, 14.960060397913, 13.866582084035535, 5.467036180142323,
                                     0.8389608629875561, 0.03900954894570312, 0.0002566084898741937);
  const W q = order == 0 ? POLY9(w, -0.125, -1.2465781446525301, -4.392045589638644, -6.978361884232639, -5.295923199777311,
                                 -1.8727235675537866, -0.2775884039932919, -0.01330326098969922, -8.79864015213562e-05) /
                               POLY9(w, 1, 9.996062657220236, 35.36774045321639, 56.62765270875803, 43.60012597803986,
                                     15.865797556694547, 2.5021667617888403, 0.14032609573162227, 0.0017047195972936576)
                         : POLY9(w, 0.375, 3.704226737188359, 12.909934331040297, 20.261924913226515, 15.17114534573894,
                                 5.292357762731888, 0.7769372056250959, 0.03765538523123608, 0.00029510086502893045) /
                               POLY9(w, 1, 9.888875465835623, 34.533466798676685, 54.39813813709703, 41.01364680387725,
                                     14.507190328382697, 2.1954306402632833, 0.11503331743393129, 0.0012081268475615285);
  return (p * first + q / x * second) / sqrt((W)3.141592653589793 * x);
}
FUNCTION W j0_all(W a, W s, W c) {
  const W x = fabs(a);
  const W r = bessel_far(x, 0, c + s, c - s);  // s, c of x
  return x <= 5 ? j0_near(a) : r;
}
FUNCTION W j1_all(W a, W s, W c) {
  const W x = fabs(a);
  const W r = bessel_far(x, 1, s - c, s + c);
  return x <= 5 ? j1_near(a) : copysign((W)1, a) * r;
}
FUNCTION W y0_all(W a, W s, W c) {
  const W r = bessel_far(a, 0, s - c, s + c);
  return a <= 5 ? y0_near(a) : r;
}
FUNCTION W y1_all(W a, W s, W c) {
  const W r = bessel_far(a, 1, -(s + c), s - c);
  return a <= 5 ? y1_near(a) : r;
}

// sin(a) / a, of the sine.
FUNCTION W spherical_j0(W a, W s) { return a == 0 ? (W)1 : (fabs(a) == (W)INFINITE ? (W)0 : s / a); }

// ---- modified Bessel functions: up to 8 by polynomials in the square, beyond by those in 16 / x - 1 times the exponential over the
// root; of the second kind up to 1, beyond by quotients in 1 / x.

FUNCTION W i0_near(W a) {
  const W z = a * a;
  return POLY17(z, 1, 0.25, 0.015625000000000007, 0.00043402777777777445, 6.781684027778812e-06, 6.781684027758202e-08,
                4.709502797312111e-10, 2.4028075474081917e-12, 9.385967122158306e-15, 2.896902788810415e-17, 7.242279005317181e-20,
                1.4962822964042478e-22, 2.5987841051325663e-25, 3.829411247002327e-28, 5.0327117729737235e-31,
                4.601357767863732e-34, 8.487698345602824e-37);
}
FUNCTION W i1_near(W a) {
  const W z = a * a;
  return a * POLY16(z, 0.5, 0.06250000000000001, 0.0026041666666666574, 5.42534722222271e-05, 6.781684027764357e-07,
                    5.651403356704746e-09, 3.3639305668982475e-11, 1.5017547367976848e-13, 5.214425120919993e-16,
                    1.448455537254395e-18, 3.2918259018287706e-21, 6.2370206832638684e-24, 9.956969230500738e-27,
                    1.408926251589232e-29, 1.3808181584914298e-32, 2.716505589516919e-35);
}
FUNCTION W i0_far(W x) {
  const W v = 16 / x - 1;
  return POLY24(v, 0.4021765094450081, 0.0033605519836678913, 0.00013621607438951463, 1.114303378845176e-05, 1.4838476780922646e-06,
                2.9735992084667734e-07, 8.872014585661555e-08, 3.932512321137824e-08, 2.156780676115673e-08, 7.559364098665437e-09,
                -6.856484545962442e-09, -1.3427511481900905e-08, -5.0175940345046716e-09, 7.600254486433509e-09,
                6.522264862032271e-09, -3.5862834111582305e-09, -4.5305710768621196e-09, 1.6084886155781772e-09,
                2.163681278413876e-09, -6.327909921997027e-10, -6.494591114401118e-10, 1.7698085539456536e-10,
                9.114760157514253e-11, -2.4421972688131832e-11) /
         sqrt(x);
}
FUNCTION W i1_far(W x) {
  const W v = 16 / x - 1;
  return POLY24(v, 0.38939845902587233, -0.009749577193235765, -0.00021923576383137776, -1.5038547198221758e-05,
                -1.8349102493990178e-06, -3.4838563464253135e-07, -1.0001075046243961e-07, -4.3128498031006734e-08,
                -2.3394122958362557e-08, -8.432168972932417e-09, 6.84757829926934e-09, 1.4051746928735543e-08,
                5.5720183980930355e-09, -7.687251308765992e-09, -6.9444186339873875e-09, 3.501765193290176e-09,
                4.763780078020254e-09, -1.5218214060680734e-09, -2.2624401109204446e-09, 5.870664618471487e-10, 6.7727478454462e-10,
                -1.6283264322621244e-10, -9.491890392992048e-11, 2.2421768596847442e-11) /
         sqrt(x);
}
// The exponential in two factors, since it overflows before the function does.
FUNCTION W i0_all(W a) {
  const W x = fabs(a), e = exp((W)0.5 * x);
  return x <= 8 ? i0_near(a) : e * i0_far(x) * e;
}
FUNCTION W i1_all(W a) {
  const W x = fabs(a), e = exp((W)0.5 * x);
  return x <= 8 ? i1_near(a) : copysign(e * i1_far(x) * e, a);
}
FUNCTION W i0e_of(W a) {
  const W x = fabs(a), near = i0_near(a) * exp(-x);
  return x <= 8 ? near : i0_far(x);
}
FUNCTION W i1e_of(W a) {
  const W x = fabs(a), near = i1_near(a) * exp(-x);
  return x <= 8 ? near : copysign(i1_far(x), a);
}
// (i0 + i2) / 2, the slope of i1; scaled, without the sign's part.
FUNCTION W i1_slope_of(W a, W i0, W i1) { return a == 0 ? (W)0.5 : i0 - i1 / a; }

FUNCTION W k0_of(W a, W near_factor, W far_factor) {
  const W z = a * a, v = 1 / a;
  const W near = POLY8(z, 0.11593151565841245, 0.2789828789146032, 0.025248929932160484, 0.0008460350907258961,
                       1.4914719229859212e-05, 1.6271070900264265e-07, 1.2082515207624246e-09, 6.615903551644314e-12) -
                 log(a) * i0_near(a);
  const W far = POLY11(v, 1.2533141373155001, 23.707593761091317, 174.5133864332348, 648.3034723221456, 1320.362233319261,
                       1502.2578262861275, 934.293904042123, 298.17231643111654, 43.030535840646344, 2.1555177862513557,
                       0.017287636930648036) /
                POLY11(v, 1, 19.04092303576108, 141.5513395679753, 533.6996760130614, 1111.5387183353878, 1308.504065262776,
                       857.8325251580183, 297.66206988794073, 49.39505091221372, 3.2090040961494894, 0.05025538179708416) /
                sqrt(a);
  return a <= 1 ? near * near_factor : far * far_factor;
}
FUNCTION W k1_of(W a, W near_factor, W far_factor) {
  const W z = a * a, v = 1 / a;
  const W near = v + (log(a) * i1_near(a) + a * POLY8(z, -0.3079657578292062, -0.08537071972865079, -0.004642182766471435,
                                                      -0.00011253607036730547, -1.5592887662774348e-06, -1.403017207152258e-08,
                                                      -8.870907975584019e-11, -4.2224747994537033e-13));
  const W far = POLY11(v, 1.2533141373155003, 23.452595476510425, 171.842975695219, 642.2756923469484, 1339.3086952875,
                       1603.957738214257, 1095.6449446925278, 409.70914569737556, 76.65166764198771, 5.962082121081809,
                       0.12274259803774341) /
                POLY11(v, 1, 18.337463841462814, 130.35149574908456, 465.6264302784156, 907.5432738657274, 983.0104696475412,
                       578.5597326251832, 173.45094933963543, 23.255519422801616, 1.0569534037009252, 0.006869176587715078) /
                sqrt(a);
  const W r = a <= 1 ? near * near_factor : far * far_factor;
  return a == 0 ? (W)INFINITE : r;
}

// Airy's function: of z = 2/3 |a|^(3/2) beyond 1.5 on the right and 3 on the left, there of its sine s and cosine c.
FUNCTION W airy_angle(W a) {
  const W x = fabs(a);
  return x * sqrt(x) * (W)0.66666666666666667;
}
FUNCTION W airy_all(W a, W s, W c) {
  const W z = airy_angle(a), v = 1 / z, w = v * v;
  const W between = (a + (W)2.338107410459767 + (W)3.912260409818305e-17) *
                    POLY26(a, 0.15184420198129575, -0.1756393243257158, 0.07512029752781027, -0.006821309894415056,
                           -0.006307226814735779, 0.002697577872822457, -0.00031016530396724194, -8.697857857810573e-05,
                           3.720042039126154e-05, -4.1941103141409574e-06, -6.465848550251275e-07, 2.7654196645224243e-07,
                           -2.951558288094042e-08, -3.0198099458707612e-09, 1.2915651408615032e-09, -1.297348665545357e-10,
                           -9.697526512425726e-12, 4.148917599561143e-12, -3.917629010652791e-13, -2.2984370610357686e-14,
                           9.523247387780818e-15, -8.766248746344471e-16, -1.7688515231418155e-17, 2.3055280030730324e-17,
                           -1.8224643085403e-18, -3.456344779015986e-19);
  const W root = sqrt(sqrt(fabs(a)));
  const W right = exp(-z) / root *
                  (POLY10(v, 0.28209479177387814, 4.811473024293907, 31.275592106450205, 99.8383878421885, 168.42805705871572,
                          150.76974748636795, 68.33891488825662, 14.037212379920915, 1.031056601543069, 0.01424736481381202) /
                   POLY10(v, 1, 17.125672225319914, 112.02123664262976, 361.0991796635283, 618.5715168789548, 567.3971695815784,
                          267.64602700183326, 58.85149854054511, 4.911622150659085, 0.09269666475678351));
  const W p = POLY10(w, 1, 204.33463072447628, 14992.367941830345, 509684.6507685494, 8650570.615885114, 73661338.37228794,
                     300295375.682932, 523456349.6874875, 305625406.0242497, 30600026.862491116) /
              POLY10(w, 1, 204.37176421213059, 14999.89932902324, 510230.1590697164, 8668709.02275538, 73957623.52282308,
                     302654359.0117247, 531968527.85360986, 317317007.8793215, 34512886.706664674);
  const W q = POLY11(w, 0.06944444444444445, 19.151710175532518, 1962.2379944675988, 97131.35711636803, 2531124.4902225067,
                     35498017.59663386, 263032033.97815216, 969411727.1352258, 1567453839.0247817, 847728773.867637,
                     65611252.71285441) /
              POLY11(w, 1, 276.33172657910825, 28405.736395638098, 1413782.9820133836, 37177498.61166968, 529461568.56065845,
                     4028970659.953015, 15580518287.512383, 27655739980.803665, 18410651168.442028, 2824100251.7803397);
  const W left = (p * (s + c) - q * v * (c - s)) * (W)0.3989422804014327 / root;
  const W r = a > (W)1.5 ? right : (a < -3 ? left : between);
  return fabs(a) == (W)INFINITE ? (W)NOT_A_NUMBER : r;
}

// ---- the error function and the normal distribution

// a^2 without its rounded value s.
#ifdef RUSHLIGHT_NO_FMA
FUNCTION W square_rest(W a, W s) {
  const W big = 134217729 * a, high = big - (big - a), low = a - high;
  return ((high * high - s) + 2 * high * low) + low * low;
}
#else
FUNCTION W square_rest(W a, W s) { return madd(a, a, -s); }
#endif

// e^(x^2) erfc(x) of x >= 0: a polynomial over 1 + 2 x.
FUNCTION W erfcx_above(W x) {
  const W b = x < (W)1e30 ? x : (W)1e30, t = (b - 2) / (b + 2);
  return POLY28(t, 1.2769783815525286, -0.09276382658574601, -0.16603039761528884, 0.16405128003344166, -0.05422000099207114,
                -0.00803401508238149, 0.008722653876530033, 0.001271338964933006, -0.0014568139569316842, -0.00045434082082698415,
                0.0002063672802685968, 0.00015103912306188376, -1.510150925771988e-06, -3.6423184842143545e-05,
                -1.3491871866403955e-05, 3.710456477895487e-06, 5.220886777056342e-06, 1.5040904711467554e-06,
                -6.878048091518103e-07, -8.342515908626396e-07, -2.772830092070181e-07, 1.3589167205214257e-07,
                1.8009436020139302e-07, 3.0845868165339e-08, -4.5229663952194024e-08, -1.8744184702459688e-08,
                4.761857829888926e-09, 2.8114026723241795e-09) /
         (1 + 2 * b);
}
FUNCTION W erfcx_of(W a) {
  const W x = fabs(a), e = erfcx_above(x), b = x < 30 ? x : (W)30, s = b * b;
  const W r = 2 * exp(s) * (1 + square_rest(b, s)) - e;
  const W far = a >= 0 ? (x == (W)INFINITE ? (W)0 : e) : (a != a ? a : r);
  return x < (W)1e-9 ? 1 - (W)1.1283791670955126 * a : far;
}
// Its slope 2 x erfcx(x) - 2 / sqrt(pi), which cancels on the right.
FUNCTION W erfcx_slope_of(W a) {
  const W b = a < (W)1e30 ? a : (W)1e30, t = (b - 2) / (b + 2), d = 1 + 2 * b;
  const W right = -POLY31(t, 2.66991154633724, 0.18316642757385795, -1.1828563629105937, 0.596233888654367, 0.2024479703730707,
                          -0.26423297491753034, 0.0023614968363702958, 0.06081244627024857, 0.0030449808314898575,
                          -0.014273689679224091, -0.003699025308328044, 0.002703198545328751, 0.0018259180456793851,
                          -8.707722258332087e-05, -0.0005463372402629282, -0.00021082969727677934, 6.262567827576133e-05,
                          9.387948838017273e-05, 3.007985721293439e-05, -1.1831776813920037e-05, -1.6754477948375175e-05,
                          -7.60336310496563e-06, 1.4289590686837243e-06, 4.941105275504175e-06, 2.0834093151077263e-06,
                          -1.366566729637937e-06, -1.1504222180120227e-06, 1.8250046197756806e-07, 2.7916146777202696e-07,
                          -7.3669005946328e-09, -2.8486570404981762e-08) /
                  (d * d);
  return a >= 0 ? (a == (W)INFINITE ? (W)0 : right) : 2 * a * erfcx_of(a) - (W)1.1283791670955126;
}
FUNCTION W erfc_of(W a) {
  const W x = fabs(a), b = x < 28 ? x : (W)28, s = b * b;
  const W r = exp(-s) * (1 - square_rest(b, s)) * erfcx_above(b);
  const W far = a >= 0 ? r : (a != a ? a : 2 - r);
  return x < (W)1e-9 ? 1 - (W)1.1283791670955126 * a : far;
}
FUNCTION W erf_of(W a) {
  const W z = a * a;
  const W small = a * POLY12(z, 1.1283791670955126, -0.37612638903183543, 0.11283791670945006, -0.02686617064323777,
                             0.0052239776071164225, -0.0008548325975389692, 0.00012055294904839707, -1.492473690741966e-05,
                             1.6447424703317362e-06, -1.6208483801871705e-07, 1.3720064546777686e-08, -7.795898827002142e-10);
  // -log(1 - erf) from 1 on
  const W x = fabs(a), t = (x < 6 ? x : (W)6) - 1;
  const W rest = exp(-POLY18(t, 1.8496055099332482, 2.6389675142347753, 0.8431072563594272, 0.04156109802490333,
                             -0.010033825177660416, 0.001977901207553113, -0.00023731640298830904, -2.6296412672119194e-05,
                             2.719913931518377e-05, -9.671614705081957e-06, 2.132190942101365e-06, -2.050082987094091e-07,
                             -5.789882854468955e-08, 3.3344527019764266e-08, -8.505228602508826e-09, 1.3165077001687758e-09,
                             -1.190313902887811e-10, 4.850077219417913e-12));
  return x < 1 ? small : (a != a ? a : copysign(1 - rest, a));
}
FUNCTION W ndtr_log(W a) {
  const W x = fabs(a), e = (W)0.5 * erfcx_above(x * (W)0.7071067811865476), power = (W)0.5 * (a * a);
  const W part = e * exp(-power), u = a < 0 ? e : 1 - part, l = log(u);
  const W r = a < 0 ? l - power : l + ((1 - u) - part) / u;
  return part < (W)1e-17 && a > 0 ? -part : (a != a ? a : r);
}
// The quantile of the normal distribution whose probability is q above one half; tail: that on its side. near: of tails above 2e-11.
FUNCTION W quantile_near(W q, W tail) {
  const W z = (W)0.180625 - q * q, r = sqrt(-log(tail));
  const bool inner = fabs(q) <= (W)0.425;
  const W above = inner ? q * POLY10(z, 3.387132872796367, 168.7695859059428, 3383.9305070235127, 35097.59362354282,
                                     201853.53648477246, 642549.1592490167, 1070696.0909198807, 823211.500234892,
                                     222542.29888923568, 9337.31868254127)
                        : copysign(POLY10(r, -3.656013960298698, -48.5230921544139, -108.81295810149878, -11.521929047292435,
                                          116.13146406709188, 118.6610782412429, 56.89996467091834, 13.089045457955157,
                                          1.2196166857087043, 0.03326108384686841),
                                   q);
  const W below = inner
                      ? POLY10(z, 1, 52.831937249429, 1135.7701222515911, 12818.244715578627, 81857.5377525994, 297827.2025479828,
                               592776.8233874465, 586386.2572520972, 237397.53921448093, 24659.993400567433)
                      : POLY10(r, 1, 20.96904823076058, 88.80758275894091, 133.89022885457499, 98.73505779173881, 42.0347961629593,
                               9.322647797958338, 0.862579643362306, 0.023517715413467005, 8.888590567435509e-09);
  return above / below;
}
FUNCTION W quantile_all(W q, W tail) {
  const W r = sqrt(-log(tail));
  const W far = copysign(
      POLY11(r, -3.004901605719317, -10.20585471534516, -3.947387237604205, 10.891713011951449, 12.213674635329774,
             4.5722069373719245, 0.727923724837793, 0.05219662307871086, 0.0016654689342640574, 2.153687387837861e-05,
             8.45452742587512e-08) /
          POLY11(r, 1, 6.799702224473787, 12.26865636388301, 9.548505422667585, 3.3125448437797056, 0.5177458453495505,
                 0.03695527080332671, 0.0011778927523533576, 1.5228938442279629e-05, 5.978245188238538e-08, 8.556059368150829e-17),
      q);
  return tail > (W)2e-11 ? quantile_near(q, tail) : (tail == 0 ? copysign((W)INFINITE, q) : far);
}
FUNCTION W smaller_tail(W p) { return p < (W)0.5 ? p : 1 - p; }
FUNCTION W erf_inverse(W a) { return quantile_all((W)0.5 * a, (W)0.5 * (1 - fabs(a))) * (W)0.7071067811865476; }
